import { afterEach, beforeEach, expect, test } from 'vitest';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId, LeaderAddress, NodeId } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import type { Deferred } from '../../../kit/index.ts';
import { cursorOf, readCursor } from '../../../scheduler/contract/index.ts';
import type {
  AsOf,
  Dated,
  EventPage,
  EventShape,
  EventsQuery,
  JobSummary,
  JobsQuery,
  NodeShape,
  Page,
  ReadJob,
  Reader,
  ScheduleShape,
} from '../../../scheduler/contract/index.ts';
import { VirtualClock, settled } from '../../../../test/rig/virtual-clock.ts';
import { Replica } from './replica.ts';

const away = (): MillraceError => new MillraceError({ code: 'unreachable', what: 'Away.' });

/** A cluster in a few maps, which can be cut off. */
class Source implements Reader {
  isAway = false;
  /** Instead of an answer. */
  refuses: MillraceError | null = null;
  /** Jobs that cannot be read, while all else goes on. */
  readonly broken: Set<JobId> = new Set();
  /** Jobs cannot be read before this; all else is answered at once. */
  slowJobs: Deferred<void> | null = null;
  oldestSeq = 1;
  readonly events: EventShape<Date>[] = [];
  readonly shapes: Map<JobId, ReadJob> = new Map();
  scheduled: readonly string[] = [];
  leads: LeaderAddress = { nodeId: 'a', url: 'http://a', grpc: 'a:1', epoch: 1 };
  #changed: Deferred<void> = deferred();

  get #asOf(): AsOf<Date> {
    return { seq: this.events.length, at: new Date(this.events.length) };
  }

  logs(): Promise<null> {
    return Promise.resolve(null);
  }

  #answer<T>(value: T): Promise<Dated<T>> {
    if (this.refuses !== null) return Promise.reject(this.refuses);
    if (!this.isAway) return Promise.resolve({ asOf: this.#asOf, value });
    return Promise.reject(away());
  }

  setJob(id: string, state: ReadJob['state'], kind: EventShape['kind'] = 'job.created'): void {
    const known = this.shapes.get(id as JobId);
    const no = known?.no ?? this.shapes.size + 1;
    const shape = { id, no, state, name: 'n', result: null, tasks: [], history: [] };
    this.shapes.set(id as JobId, shape as never);
    this.happened(kind, id);
  }

  happened(kind: EventShape['kind'], job: string | null = null): void {
    const seq = this.events.length + 1;
    this.events.push({ seq, at: new Date(seq), kind, job } as EventShape<Date>);
    this.wake();
  }

  wake(): void {
    this.#changed.resolve();
    this.#changed = deferred();
  }

  async leader(): Promise<LeaderAddress> {
    return (await this.#answer(this.leads)).value;
  }

  async head(): Promise<AsOf<Date>> {
    return (await this.#answer(null)).asOf;
  }

  jobs({ limit, cursor, state }: JobsQuery): Promise<Dated<Page<JobSummary<Date>>>> {
    const [before = Infinity] = cursor === undefined ? [] : readCursor('jobs', 1, cursor);
    const all = [...this.shapes.values()].toSorted((a, b) => b.no - a.no);
    const items = all
      .filter((job) => job.no < before && (state === undefined || job.state === state))
      .slice(0, limit);
    const last = items.length === limit ? items.at(-1) : undefined;
    return this.#answer({ items, cursor: last ? cursorOf('jobs', [last.no]) : null });
  }

  async job(id: JobId): Promise<Dated<ReadJob | null>> {
    await this.slowJobs?.promise;
    if (this.broken.has(id)) return Promise.reject(away());
    return this.#answer(this.shapes.get(id) ?? null);
  }

  task(): Promise<never> {
    return Promise.reject(new Error('nobody asks for it'));
  }

  jobCounts(): Promise<never> {
    throw new Error('a replica counts what it has');
  }

  deadTasks(): Promise<Dated<Page<never>>> {
    return this.#answer({ items: [], cursor: null });
  }

  nodes(): Promise<Dated<readonly NodeShape<Date>[]>> {
    return this.#answer([{ id: 'w' as NodeId } as NodeShape<Date>]);
  }

  schedules(): Promise<Dated<readonly ScheduleShape<Date>[]>> {
    return this.#answer(this.scheduled.map((id) => ({ id }) as ScheduleShape<Date>));
  }

  async *follow({ after }: EventsQuery, signal: AbortSignal): AsyncIterable<EventPage> {
    let at = after;
    while (!signal.aborted) {
      if (at + 1 < this.oldestSeq) throw new MillraceError({ code: 'expired', what: 'Gone.' });
      const { asOf } = await this.#answer(null);
      const events = this.events.slice(at);
      if (events.length > 0) yield { events, asOf };
      at = asOf.seq;
      const stop = deferred();
      const end = (): void => stop.resolve();
      signal.addEventListener('abort', end);
      await Promise.race([this.#changed.promise, stop.promise]);
      signal.removeEventListener('abort', end);
    }
  }
}

let clock: VirtualClock;
let source: Source;
let replica: Replica;
let stop: AbortController;
let troubles: string[];

beforeEach(() => {
  clock = new VirtualClock();
  source = new Source();
  troubles = [];
  const onTrouble = ({ code }: MillraceError): void => void troubles.push(code);
  const bounds = { jobsMax: 3, eventsMax: 4 };
  replica = new Replica({ source, clock, ...bounds, random: () => 0.5, onTrouble });
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await replica.stop();
});

async function start(): Promise<void> {
  await replica.start();
  await replica.ready;
}

const names = async (query: Partial<JobsQuery> = {}): Promise<string[]> =>
  (await replica.jobs({ limit: 3, ...query })).value.items.map(({ id }) => id);

test('cached data is answered while the source is unreachable, with its age', async () => {
  source.setJob('one', 'running');
  await start();
  source.isAway = true;
  source.setJob('one', 'succeeded');
  await settled();
  const job = await replica.job('one' as JobId);
  expect(job).toMatchObject({ asOf: { seq: 1, at: new Date(1) }, value: { state: 'running' } });
  expect((await replica.nodes()).value).toMatchObject([{ id: 'w' }]);
  expect(await names({ limit: 1 })).toEqual(['one']);
  expect(await replica.leader()).toMatchObject({ nodeId: 'a' });
});

test('an answer that was fresher than the log keeps its age', async () => {
  await start();
  source.isAway = true;
  source.wake();
  await settled();
  source.isAway = false;
  source.setJob('one', 'running');
  expect(await replica.job('one' as JobId)).toMatchObject({ asOf: { seq: 1 } });
  source.isAway = true;
  expect(await replica.head()).toMatchObject({ seq: 0 });
  expect(await replica.job('one' as JobId)).toMatchObject({ asOf: { seq: 1 } });
});

test('missed events are read when the source is reachable again', async () => {
  source.setJob('one', 'running');
  await start();
  source.isAway = true;
  source.wake();
  await settled();
  source.setJob('one', 'succeeded', 'job.succeeded');
  source.leads = { ...source.leads, nodeId: 'b', epoch: 2 };
  source.happened('leader.elected');
  source.isAway = false;
  await clock.advance(10_000);
  expect(await replica.job('one' as JobId)).toMatchObject({
    asOf: { seq: 3 },
    value: { state: 'succeeded' },
  });
  expect(await replica.leader()).toMatchObject({ nodeId: 'b' });
});

test('a schedule that is created or changed is read again', async () => {
  await start();
  source.scheduled = ['nightly'];
  source.happened('schedule.changed');
  await settled();
  expect((await replica.schedules()).value).toEqual([{ id: 'nightly' }]);
});

test('a replica that starts while the source is unreachable waits for it', async () => {
  source.isAway = true;
  await replica.start();
  await clock.advance(5_000);
  source.setJob('one', 'queued');
  source.isAway = false;
  await clock.advance(5_000);
  await replica.ready;
  expect(await names({ limit: 1 })).toEqual(['one']);
});

test('while jobs are still being read it is ready, knows the leader and follows the log', async () => {
  for (const id of ['a', 'b', 'c']) source.setJob(id, 'queued');
  source.slowJobs = deferred();
  await start();
  source.leads = { ...source.leads, nodeId: 'b', epoch: 2 };
  source.happened('leader.elected');
  await settled();
  expect(await replica.leader()).toMatchObject({ nodeId: 'b' });
  expect(await replica.head()).toMatchObject({ seq: 4 });
  expect(await names()).toEqual(['c', 'b', 'a']);
  source.setJob('d', 'queued');
  source.slowJobs.resolve();
  await settled();
  source.isAway = true;
  expect(await replica.jobs({ limit: 3 })).toMatchObject({
    asOf: { seq: 5 },
    value: { items: [{ id: 'd' }, { id: 'c' }, { id: 'b' }] },
  });
});

test('jobs that change all the time do not prevent it from listing what it has read', async () => {
  source.setJob('a', 'queued');
  await start();
  await settled();
  for (let at = 0; at < 10; at += 1) {
    source.slowJobs = deferred();
    source.setJob('a', 'running', 'started');
    await settled();
    const { resolve } = source.slowJobs;
    source.setJob('a', 'running', 'progress');
    await settled();
    source.slowJobs = null;
    resolve();
    await settled();
    source.isAway = true;
    const { asOf } = await replica.jobs({ limit: 1 });
    source.isAway = false;
    expect(asOf.seq).toBeGreaterThanOrEqual(2 * at + 2);
  }
});

test('jobs that are not cached are read from the source, and fail only while it is unreachable', async () => {
  for (const id of ['a', 'b', 'c', 'd', 'e']) source.setJob(id, 'queued');
  await start();
  const first = await replica.jobs({ limit: 3 });
  expect(first.value.items.map(({ id }) => id)).toEqual(['e', 'd', 'c']);
  const next = { limit: 3, cursor: first.value.cursor as string };
  expect((await replica.jobs(next)).value.items.map(({ id }) => id)).toEqual(['b', 'a']);
  source.isAway = true;
  await expect(replica.jobs(next)).rejects.toMatchObject({ code: 'unreachable' });
  expect(await names()).toEqual(['e', 'd', 'c']);
});

test('after a truncated log it starts over, and until then answers what it had', async () => {
  source.setJob('old', 'running');
  await start();
  source.isAway = true;
  source.wake();
  await settled();
  source.shapes.delete('old' as JobId);
  for (const id of ['x', 'y']) source.setJob(id, 'queued');
  source.oldestSeq = 3;
  expect(await names({ limit: 1 })).toEqual(['old']);
  source.isAway = false;
  await clock.advance(10_000);
  expect(await names()).toEqual(['y', 'x']);
  expect((await replica.job('old' as JobId)).value).toBeNull();
});

test('followers see each event once, from memory and from the source', async () => {
  for (let at = 0; at < 3; at += 1) source.happened('progress');
  await start();
  const seen: number[] = [];
  const following = (async () => {
    for await (const { events } of replica.follow({ after: 0 }, stop.signal)) {
      seen.push(...events.map(({ seq }) => seq));
    }
  })();
  await settled();
  for (let at = 0; at < 20; at += 1) {
    source.happened('progress');
    if (at % 3 === 0) await settled();
  }
  await clock.advance(20_000);
  stop.abort();
  await following;
  expect(seen).toEqual(Array.from({ length: 23 }, (_, at) => at + 1));
});

test('a quiet log yields keep-alives', async () => {
  source.happened('progress');
  await start();
  const pages = replica.follow({ after: 1 }, stop.signal)[Symbol.asyncIterator]();
  const next = pages.next();
  await clock.advance(6_000);
  expect(await next).toMatchObject({ value: { events: [], asOf: { seq: 1 } } });
});

test('a page that is fetched again after a failure is not followed twice', async () => {
  await start();
  const seen: number[] = [];
  const following = (async () => {
    for await (const { events } of replica.follow({ after: 0 }, stop.signal)) {
      seen.push(...events.map(({ seq }) => seq));
    }
  })();
  source.broken.add('one' as JobId);
  source.setJob('one', 'running');
  await clock.advance(10_000);
  source.broken.clear();
  await clock.advance(10_000);
  const late = replica.follow({ after: 0 }, stop.signal)[Symbol.asyncIterator]();
  expect((await late.next()).value).toMatchObject({ events: [{ seq: 1 }] });
  stop.abort();
  await following;
  expect(seen).toEqual([1]);
  expect(await names({ limit: 1 })).toEqual(['one']);
});

test.each(['unauthenticated', 'forbidden'] as const)(
  'a replica that is %s is never ready, and says so once',
  async (code) => {
    source.refuses = new MillraceError({ code, what: 'No.' });
    await replica.start();
    await expect(replica.ready).rejects.toMatchObject({ code });
    await clock.advance(10_000);
    expect(troubles).toEqual([code]);
  },
);

test('each problem is reported once, a truncated log is not one, and cached data stays', async () => {
  source.refuses = new MillraceError({ code: 'bad_setting', what: 'No.' });
  await replica.start();
  await clock.advance(10_000);
  source.refuses = null;
  source.setJob('one', 'running');
  await clock.advance(10_000);
  await replica.ready;
  expect(troubles).toEqual(['bad_setting']);

  source.refuses = new MillraceError({ code: 'forbidden', what: 'No more.' });
  source.wake();
  await clock.advance(10_000);
  source.refuses = new MillraceError({ code: 'bad_setting', what: 'No.' });
  await clock.advance(10_000);
  source.refuses = null;
  source.oldestSeq = 9;
  await clock.advance(10_000);
  expect(troubles).toEqual(['bad_setting', 'forbidden']);
  expect(await names({ limit: 1 })).toEqual(['one']);
  await replica.ready;
});

test('an unexpected error is reported as an internal error', async () => {
  source.leader = () => Promise.reject(new TypeError('a bug'));
  await replica.start();
  await clock.advance(1_000);
  expect(troubles).toEqual(['invariant']);
});
