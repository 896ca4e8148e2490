import { beforeEach, describe, expect, test } from 'vitest';
import { calm } from '../../../test/rig/worker-rig.ts';
import { lease } from '../../../test/rig/fake-leader.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { ReportReply, WorkerReport } from '../../scheduler/contract/index.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { Outbox } from './outbox.ts';
import { defaultWorkerSettings } from './settings.ts';

let clock: VirtualClock;
let sent: (readonly WorkerReport[])[];
let answer: (items: readonly WorkerReport[]) => Promise<ReportReply>;
let over: Error[];

const fine = (items: readonly WorkerReport[]): Promise<ReportReply> =>
  Promise.resolve({
    verdicts: items.map(() => 'ok' as const),
    orders: { abort: [], drain: false, slowDownMs: 0 },
  });

beforeEach(() => {
  clock = new VirtualClock();
  sent = [];
  over = [];
  answer = fine;
});

function outbox(settings: Partial<typeof defaultWorkerSettings> = {}): Outbox {
  return new Outbox({
    send: (items) => {
      sent.push(items);
      return answer(items);
    },
    clock,
    random: () => 0.5,
    settings: { ...defaultWorkerSettings, ...settings },
    quietMs: () => 0,
    onAnswer: () => {},
    onOver: (error) => over.push(error),
    say: () => {},
  });
}

const done = (no: number, result = '1'): WorkerReport => ({
  kind: 'completed',
  lease: lease(no),
  result,
});

function refused(code: 'too_large' | 'unreachable' | 'superseded'): Promise<never> {
  return Promise.reject(new MillraceError({ code, what: `${code}.` }));
}

test('items during a report in flight go into the next one, in order', async () => {
  const box = outbox();
  box.put(done(1));
  box.put(done(2));
  await calm();
  let release: () => void = () => {};
  answer = (items) =>
    new Promise((resolve) => {
      release = () => resolve(fine(items));
    });
  box.put(done(3));
  await calm();
  box.put(done(4));
  box.put(done(5));
  await calm();
  expect(sent.map((items) => items.map((item) => item.lease.taskNo))).toEqual([[1, 2], [3]]);
  answer = fine;
  release();
  await calm();
  expect(sent.at(-1)?.map((item) => item.lease.taskNo)).toEqual([4, 5]);
  expect(box.isEmpty).toBe(true);
});

test('a report is bounded in items and in bytes, and a large result still goes', async () => {
  const box = outbox({ reportItemsMax: 3, reportBytesMax: 10 });
  for (const no of [1, 2, 3, 4]) box.put({ kind: 'released', lease: lease(no) });
  box.put(done(5, 'x'.repeat(50)));
  box.put(done(6, 'x'.repeat(6)));
  box.put(done(7, 'x'.repeat(6)));
  await calm();
  expect(sent.map((items) => items.map((item) => item.lease.taskNo))).toEqual([
    [1, 2, 3],
    [4, 5],
    [6],
    [7],
  ]);
});

test('an answer with too few verdicts counts as lost', async () => {
  const box = outbox();
  const verdicts: string[] = [];
  answer = () => fine([]);
  box.put(done(1), (verdict) => verdicts.push(verdict));
  await calm();
  expect(verdicts).toEqual([]);
  answer = fine;
  await clock.advance(1_000);
  expect(sent).toEqual([[done(1)], [done(1)]]);
  expect(verdicts).toEqual(['ok']);
});

test('an item that the leader refuses for good fails its task, and only that one', async () => {
  const box = outbox();
  const verdicts: string[] = [];
  answer = (items) =>
    items.some((item) => item.kind === 'completed' && item.result === 'huge')
      ? refused('too_large')
      : fine(items);
  for (const item of [done(1), done(2, 'huge'), done(3)]) {
    box.put(item, (verdict) => verdicts.push(`${item.lease.taskNo} ${verdict}`));
  }
  await calm();
  expect(verdicts).toEqual(['1 ok', '2 ok', '3 ok']);
  expect(sent.slice(1).flat()).toEqual([
    done(1),
    done(2, 'huge'),
    {
      kind: 'failed',
      lease: lease(2),
      failure: 'fatal',
      error: { code: 'too_large', message: 'the leader rejected what it completed: too_large.' },
    },
    done(3),
  ]);
});

test('when even the failure report is refused, the lease is given up', async () => {
  const box = outbox();
  const verdicts: string[] = [];
  answer = () => refused('too_large');
  box.put(done(1), (verdict) => verdicts.push(verdict));
  await calm();
  expect(verdicts).toEqual(['lost']);
  expect(box.isEmpty).toBe(true);
});

test('the end of the session ends everything that waits', async () => {
  const box = outbox();
  answer = () => refused('superseded');
  box.put(done(1));
  await calm();
  expect(over).toMatchObject([{ code: 'superseded' }]);
  box.stop();
  box.put(done(2));
  await clock.advance(10_000);
  expect(sent).toHaveLength(1);
  expect(box.isEmpty).toBe(true);
});

test('it is full by number and by bytes until there are verdicts', async () => {
  const box = outbox({ unreportedItemsMax: 2, unreportedBytesMax: 100 });
  box.put(done(1));
  expect(box.isFull).toBe(false);
  box.put(done(2));
  expect(box.isFull).toBe(true);
  await calm();
  expect(box.isFull).toBe(false);
  box.put(done(3, 'x'.repeat(100)));
  expect(box.isFull).toBe(true);
  await calm();
  expect(box.isFull).toBe(false);
});

describe('a large report', () => {
  let answers: (() => void)[];
  const numbers = (): readonly (readonly [first: number, count: number])[] =>
    sent.map((items) => [items[0]?.lease.taskNo ?? -1, items.length]);

  beforeEach(() => {
    answers = [];
    answer = (items) =>
      new Promise((resolve) => {
        answers.push(() => resolve(fine(items)));
      });
  });

  function put(box: Outbox, from: number, count: number, verdicts: number[] = []): void {
    for (let no = from; no < from + count; no += 1) box.put(done(no), () => verdicts.push(no));
  }

  test('does not wait for those before it, whichever is answered first', async () => {
    const box = outbox();
    const verdicts: number[] = [];
    for (const from of [0, 100, 200]) {
      put(box, from, 100, verdicts);
      await calm();
    }
    expect(numbers()).toEqual([
      [0, 100],
      [100, 100],
      [200, 100],
    ]);
    answers[1]?.();
    await calm();
    expect([verdicts.length, verdicts[0]]).toEqual([100, 100]);
    answers[0]?.();
    answers[2]?.();
    await calm();
    expect(verdicts).toHaveLength(300);
    expect(box.isEmpty).toBe(true);
  });

  test('is one of a few', async () => {
    const box = outbox();
    for (let from = 0; from < 800; from += 100) {
      put(box, from, 100);
      await calm();
    }
    expect(sent).toHaveLength(4);
    answers[0]?.();
    await calm();
    expect(numbers().at(-1)).toEqual([400, 400]);
  });

  test('waits when it has more to say of a lease that another one is about', async () => {
    const box = outbox();
    const item = done(0);
    box.put({ kind: 'progress', lease: item.lease, fraction: 0.5, note: null });
    await calm();
    put(box, 100, 50);
    box.put(item);
    put(box, 200, 200);
    await calm();
    expect(numbers()).toEqual([
      [0, 1],
      [100, 50],
    ]);
    answers[0]?.();
    await calm();
    expect(numbers().at(-1)).toEqual([0, 201]);
  });

  test('that is lost is sent again, while others go on', async () => {
    const box = outbox();
    const verdicts: number[] = [];
    const late = answer;
    answer = () => refused('unreachable');
    put(box, 0, 100, verdicts);
    await calm();
    answer = late;
    put(box, 100, 100, verdicts);
    await calm();
    answers[0]?.();
    await calm();
    expect([verdicts.length, verdicts[0]]).toEqual([100, 100]);
    await clock.advance(1_000);
    answers[1]?.();
    await calm();
    expect([verdicts.length, verdicts[100]]).toEqual([200, 0]);
  });
});
