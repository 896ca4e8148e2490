/** Several commits under way: sent in order, answered in order, and they fail together. */
import { beforeEach, describe, expect, test } from 'vitest';
import { holdingCommits } from '../../../test/rig/held-commits.ts';
import type { Holding } from '../../../test/rig/held-commits.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock, settled } from '../../../test/rig/virtual-clock.ts';
import { MillraceError } from '../core/index.ts';
import type { ErrorCode } from '../core/index.ts';
import type { Store } from '../store/index.ts';

const ECHO = { tasks: [{ id: 'a', executor: 'echo' }] };
const fault = (code: ErrorCode): MillraceError =>
  new MillraceError({ code, what: `it is ${code}` });

let clock: VirtualClock;
let holding: Holding;
let led: Led;
let inner: Store;

beforeEach(() => begin({ worthBytes: 1 }));

async function begin(options: { readonly worthBytes?: number }, store?: Store): Promise<void> {
  clock = new VirtualClock();
  inner = store ?? memoryStore(clock);
  holding = holdingCommits(inner);
  led = await lead(holding.store, clock, options);
  await led.leader.loaded;
  holding.begin();
}

/** What has settled so far, without time passing. */
async function outcomes(promises: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const seen = promises.map(() => 'waits');
  for (const [at, promise] of promises.entries()) {
    promise.then(
      () => (seen[at] = 'done'),
      (error: unknown) => (seen[at] = error instanceof MillraceError ? error.code : 'error'),
    );
  }
  await settled();
  return seen;
}

function submit(name: string, document: object = ECHO): Promise<unknown> {
  return led.leader.jobs.submit({ name, ...document }, { jobId: jobId(name), isFresh: true });
}

/** One batch each. */
async function submitEach(...names: readonly string[]): Promise<readonly Promise<unknown>[]> {
  const replies: Promise<unknown>[] = [];
  for (const name of names) {
    const reply = submit(name);
    reply.catch(() => {});
    replies.push(reply);
    await settled();
  }
  return replies;
}

const numbers = (): readonly number[] => holding.held.map(({ batch }) => batch.commitNo);

describe('commits that are sent', () => {
  test('follow on each other while the first is under way, and are answered one by one', async () => {
    const replies = await submitEach('a', 'b', 'c');
    const [first = 0] = numbers();
    expect(numbers()).toEqual([first, first + 1, first + 2]);
    for (const commit of holding.held) await commit.make();
    expect(await outcomes(replies)).toEqual(['waits', 'waits', 'waits']);
    holding.held[0]?.answer();
    expect(await outcomes(replies)).toEqual(['done', 'waits', 'waits']);
    holding.held[1]?.answer();
    holding.held[2]?.answer();
    expect(await outcomes(replies)).toEqual(['done', 'done', 'done']);
  });

  test('are no more at once than the store takes', async () => {
    void (await submitEach('a', 'b', 'c', 'd', 'e', 'f'));
    expect(holding.held).toHaveLength(inner.commitsAtOnce ?? 0);
    await holding.held[0]?.make();
    holding.held[0]?.answer();
    await settled();
    expect(holding.held.at(-1)?.batch.jobInserts.map(({ name }) => name)).toEqual(['e', 'f']);
  });

  test('are one after the other where the store takes no more', async () => {
    const one = new Proxy(memoryStore(new VirtualClock()), {
      get: (target, name) => {
        if (name === 'commitsAtOnce') return undefined;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    await begin({ worthBytes: 1 }, one);
    void (await submitEach('a', 'b', 'c'));
    expect(holding.held).toHaveLength(1);
  });

  test('do not follow at once with little in them, but when one returns', async () => {
    await begin({});
    const replies = await submitEach('a', 'b');
    expect(holding.held).toHaveLength(1);
    await holding.held[0]?.make();
    holding.held[0]?.answer();
    expect(await outcomes(replies)).toEqual(['done', 'waits']);
    expect(holding.held).toHaveLength(2);
  });

  test('do not stand beside that of a large submission', async () => {
    const input = 'x'.repeat(600_000);
    const large = { tasks: ['a', 'b'].map((id) => ({ id, executor: 'echo', input })) };
    const replies = [submit('large', large)];
    await settled();
    replies.push(...(await submitEach('b')));
    expect(holding.held).toHaveLength(1);
    await holding.held[0]?.make();
    holding.held[0]?.answer();
    expect(await outcomes(replies)).toEqual(['done', 'waits']);
  });
});

describe('answers', () => {
  test('wait for those of the commits before, although their own has returned', async () => {
    const replies = await submitEach('a', 'b');
    for (const commit of holding.held) await commit.make();
    holding.held[1]?.answer();
    expect(await outcomes(replies)).toEqual(['waits', 'waits']);
    holding.held[0]?.answer();
    expect(await outcomes(replies)).toEqual(['done', 'done']);
  });

  test('that rest on no change of their own wait for all commits under way', async () => {
    void (await submitEach('a', 'b'));
    const read = led.leader.jobs.explain(jobId('a'), 'a' as never);
    for (const commit of holding.held) await commit.make();
    holding.held[0]?.answer();
    expect(await outcomes([read])).toEqual(['waits']);
    holding.held[1]?.answer();
    expect(await outcomes([read])).toEqual(['done']);
  });

  test('to the end of the term wait for all commits under way, which are answered as they are', async () => {
    const replies = await submitEach('a', 'b');
    const end = led.leader.end(fault('shutting_down'));
    for (const commit of holding.held) await commit.make();
    holding.held[0]?.answer();
    expect(await outcomes([end, ...replies])).toEqual(['waits', 'done', 'waits']);
    holding.held[1]?.answer();
    expect(await outcomes([end, ...replies])).toEqual(['done', 'done', 'done']);
  });

  test('keep a task from a worker until all that led to it is durable', async () => {
    holding.end();
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    holding.begin();
    void (await submitEach('a'));
    const polled = worker.poll(1);
    await settled();
    expect(holding.held).toHaveLength(2);
    for (const commit of holding.held) await commit.make();
    holding.held[1]?.answer();
    expect(await outcomes([polled])).toEqual(['waits']);
    holding.held[0]?.answer();
    expect(await outcomes([polled])).toEqual(['done']);
  });
});

describe('a commit that fails', () => {
  test('for its data takes those after it along, and all but the offender are committed again', async () => {
    const replies = await submitEach('good', 'poison', 'next');
    const [good, poison, next] = holding.held;
    await good?.make();
    good?.answer();
    poison?.fail(fault('bad_row'));
    expect(await outcomes(replies)).toEqual(['done', 'waits', 'waits']);
    // Nothing is tried again while one of them may still be made.
    expect(holding.held).toHaveLength(3);
    await next?.make();
    next?.answer();
    await settled();
    // The state as it was loaded again, then one after the other.
    const again = holding.held.slice(3).map(({ batch }) => batch.jobInserts[0]?.name);
    expect(again).toEqual(['poison']);
    holding.held[3]?.fail(fault('bad_row'));
    await settled();
    await holding.held[4]?.make();
    holding.held[4]?.answer();
    expect(await outcomes(replies)).toEqual(['done', 'bad_input', 'done']);
    const stored = await inner.jobs(0, { limit: 10 });
    expect(stored.map(({ name }) => name)).toEqual(['next', 'good']);
    expect(await outcomes([led.ended])).toEqual(['waits']);
  });

  test('with an unknown outcome ends the term, whatever became of those after it', async () => {
    const replies = await submitEach('a', 'b', 'c');
    for (const commit of holding.held) await commit.make();
    holding.held[2]?.answer();
    holding.held[0]?.fail(fault('outcome_unknown'));
    expect(await outcomes(replies)).toEqual(['waits', 'waits', 'waits']);
    holding.held[1]?.answer();
    const unknown = 'outcome_unknown';
    expect(await outcomes(replies)).toEqual([unknown, unknown, unknown]);
    expect((await led.ended).code).toBe(unknown);
  });

  test('is the reason, not the number that the store misses in the next one', async () => {
    const replies = await submitEach('a', 'b');
    await holding.held[1]?.make();
    holding.held[1]?.answer();
    expect(await outcomes(replies)).toEqual(['waits', 'waits']);
    holding.held[0]?.fail(fault('store_unavailable'));
    expect(await outcomes(replies)).toEqual(['store_unavailable', 'store_unavailable']);
    expect((await led.ended).code).toBe('store_unavailable');
  });

  test('after the term was ended refuses its callers, and those before it are answered', async () => {
    const replies = await submitEach('a', 'b');
    const end = led.leader.end(fault('shutting_down'));
    holding.held[1]?.fail(fault('bad_row'));
    await holding.held[0]?.make();
    holding.held[0]?.answer();
    const [ended, first, second] = await outcomes([end, ...replies]);
    expect([ended, first]).toEqual(['done', 'done']);
    expect(second).not.toBe('waits');
  });
});
