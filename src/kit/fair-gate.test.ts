import { expect, test } from 'vitest';
import { FairGate } from './fair-gate.ts';

const never = new AbortController().signal;

/** Enters, notes the caller when it is inside, and leaves on request. */
function visitor(gate: FairGate, caller: string, seen: string[], signal = never) {
  let leave = (): void => {};
  const entered = gate.enter(caller, signal).then((left) => {
    leave = left;
    seen.push(caller);
  });
  entered.catch(() => {});
  return { entered, leave: () => leave() };
}

test('callers take turns, however many calls one of them has', async () => {
  const gate = new FairGate({ max: 1 });
  const seen: string[] = [];
  const first = visitor(gate, 'a', seen);
  await first.entered;
  const others = ['a', 'a', 'a', 'b', 'c', 'b'].map((caller) => visitor(gate, caller, seen));
  first.leave();
  for (let turn = 0; turn < others.length; turn += 1) {
    await new Promise(setImmediate);
    // Whoever is inside; to leave twice or without having entered does nothing.
    for (const { leave } of others) leave();
  }
  expect(seen).toEqual(['a', 'a', 'b', 'c', 'a', 'b', 'a']);
  expect([gate.inside, gate.waiting]).toEqual([0, 0]);
});

test('one caller has at most its share, and the rest is for others', async () => {
  const gate = new FairGate({ max: 3, perCallerMax: 2 });
  const seen: string[] = [];
  const own = ['a', 'a', 'a'].map((caller) => visitor(gate, caller, seen));
  const other = visitor(gate, 'b', seen);
  await other.entered;
  expect(seen).toEqual(['a', 'a', 'b']);
  expect([gate.inside, gate.waiting]).toEqual([3, 1]);
  other.leave();
  await new Promise(setImmediate);
  expect(seen).toEqual(['a', 'a', 'b']);
  own[0]?.leave();
  await own[2]?.entered;
  expect(gate.inside).toBe(2);
});

test('when too many wait, the caller with the most waiting calls is refused', async () => {
  const gate = new FairGate({ max: 1, waitingMax: 3, full: () => new Error('full') });
  const seen: string[] = [];
  const first = visitor(gate, 'a', seen);
  await first.entered;
  const flood = ['a', 'a', 'a'].map((caller) => visitor(gate, caller, seen));
  await expect(gate.enter('a', never)).rejects.toThrow('full');
  const polite = visitor(gate, 'b', seen);
  await expect(flood[2]?.entered).rejects.toThrow('full');
  expect(gate.waiting).toBe(3);
  first.leave();
  await flood[0]?.entered;
  flood[0]?.leave();
  await polite.entered;
  expect(seen).toEqual(['a', 'a', 'b']);
});

test('an aborted wait leaves nothing behind', async () => {
  const gate = new FairGate({ max: 1 });
  const seen: string[] = [];
  const first = visitor(gate, 'a', seen);
  await first.entered;
  const gone = new AbortController();
  const second = visitor(gate, 'b', seen, gone.signal);
  gone.abort(new Error('left'));
  await expect(second.entered).rejects.toThrow('left');
  expect(gate.waiting).toBe(0);
  first.leave();
  first.leave();
  expect(gate.inside).toBe(0);
  await expect(gate.enter('c', gone.signal)).rejects.toThrow('left');
});

test('a call with priority goes before all waiting ones', async () => {
  const gate = new FairGate({ max: 1 });
  const leave = await gate.enter('a', never);
  const seen: string[] = [];
  const enter = (caller: string, isNext: boolean): Promise<void> =>
    gate.enter(caller, never, isNext).then((left) => {
      seen.push(caller);
      left();
    });
  const all = [enter('a', false), enter('b', false), enter('c', true)];
  leave();
  await Promise.all(all);
  expect(seen).toEqual(['c', 'a', 'b']);
});
