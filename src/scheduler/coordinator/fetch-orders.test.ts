import { beforeEach, expect, test } from 'vitest';
import { taskNo } from '../core/index.ts';
import type { NodeId } from '../core/index.ts';
import { FetchOrders } from './fetch-orders.ts';
import type {
  EarlyRead,
  FragmentEnd,
  HeldFragment,
  WorkerOrders,
  WorkerReport,
} from '../contract/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { queryJob } from '../../../test/rig/query-job.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';

const MIB = 2 ** 20;
const READER = taskNo(3);
let led: Led;
let workers: readonly [ScriptedWorker, ScriptedWorker];
let reads: readonly EarlyRead[];
let committed: HeldFragment[];

/** Two tasks make partitions, a third one reads them. It is the fourth of job 1, so it prefers the first of two nodes. */
beforeEach(async () => {
  const clock = new VirtualClock();
  [reads, committed] = [[], []];
  const fragments = {
    complete: (_fragment: HeldFragment, reported: string | null): Promise<FragmentEnd> =>
      Promise.resolve({ result: reported ?? 'null' }),
    committed: (fragment: HeldFragment): Promise<readonly EarlyRead[]> => {
      committed.push(fragment);
      return Promise.resolve(reads);
    },
  };
  const planner = { plan: () => Promise.resolve(queryJob()), fragments };
  led = await lead(memoryStore(clock), clock, { planner });
  await led.leader.loaded;
  const join = (id: string) => ScriptedWorker.join(led.leader, id, ['sql.fragment']);
  workers = [await join('a'), await join('b')];
  const { signal } = new AbortController();
  await led.leader.jobs.submitQuery({ sql: 'q' }, { jobId: jobId('q') }, signal);
});

const read = (nodeId: string, more: Partial<EarlyRead> = {}): EarlyRead => ({
  ...{ query: jobId('q'), reader: READER, nodeId, bytes: 1, read: '{"of":1}' },
  ...more,
});

async function ended(worker: ScriptedWorker): Promise<WorkerOrders> {
  const [assignment] = await worker.pollNow(1);
  return (await worker.complete(assignment?.lease ?? expect.fail('no work'), { made: 1 })).orders;
}

test('what a task will read is hinted to the node that will likely run it, with its next answer, once', async () => {
  const [reader, other] = workers;
  reads = [read(other.session.nodeId), read(other.session.nodeId, { read: '{"of":2}' })];
  expect((await ended(other)).fetchAhead).toBeUndefined();
  expect(committed).toMatchObject([{ query: 'q', stage: 0, nodeId: other.session.nodeId }]);
  const hinted = [{ query: 'q', reads: '[{"of":1},{"of":2}]' }];
  expect((await reader.beat()).fetchAhead).toEqual(hinted);
  expect((await reader.beat()).fetchAhead).toBeUndefined();
});

test('nobody gets a hint of what it has made itself', async () => {
  const [reader] = workers;
  reads = [read(reader.session.nodeId)];
  expect((await ended(reader)).fetchAhead).toBeUndefined();
});

test.each([
  ['answered', 4 * MIB],
  ['left alone', MIB],
] as const)('a parked poll is %s for %i bytes', async (_, bytes) => {
  const [reader, other] = workers;
  const [first] = await other.pollNow(2);
  const parked = reader.pollFully(1);
  reads = [read(other.session.nodeId, { bytes })];
  await other.complete(first?.lease ?? expect.fail('no work'), { made: 1 });
  const hinted = { fetchAhead: [{ query: 'q', reads: '[{"of":1}]' }] };
  if (bytes === MIB) return expect(await reader.beat()).toMatchObject(hinted);
  return expect(await parked).toMatchObject({ assignments: [], orders: hinted });
});

test('what is ready comes with all that it reads, so nothing is hinted of it then', async () => {
  const [reader, other] = workers;
  const assigned = await other.pollNow(2);
  reads = [read(other.session.nodeId)];
  for (const { lease } of assigned) await other.complete(lease, { made: 1 });
  const { orders } = await led.leader.workers.report(reader.session, []);
  expect(orders.fetchAhead).toBeUndefined();
});

test('what a report brings comes beside what has waited for its answer', async () => {
  const node = { id: 'a', sessionId: 's', poll: null };
  const state = {
    nodes: new Map([['a', node]]),
    jobsById: new Map([['q', { no: 1, slot: () => 1 }]]),
    tasks: { state: () => 'blocked' },
    matching: { places: { preferredBy: () => node } },
  };
  const orders = new FetchOrders({
    dispatcher: { peek: (look: (of: unknown) => unknown) => look(state), tell: () => {} },
    planner: { fragments: { committed: () => Promise.resolve([read('b')]) } },
    settings: { fetchWindowBytes: 0 },
  } as unknown as ConstructorParameters<typeof FetchOrders>[0]);
  const nodeId = 'a' as NodeId;
  const ended = (): Promise<void> =>
    orders.committed(
      new Map([[0, { nodeId } as HeldFragment]]),
      [{ kind: 'completed', result: '{}' } as WorkerReport],
      () => true,
    );
  await ended();
  const first = orders.with(nodeId, { abort: [], drain: false, slowDownMs: 0 });
  await ended();
  const hint = { query: 'q', reads: '[{"of":1}]' };
  expect(orders.with(nodeId, first).fetchAhead).toEqual([hint, hint]);
});
