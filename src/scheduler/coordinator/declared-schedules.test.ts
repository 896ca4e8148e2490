import { beforeEach, expect, test } from 'vitest';
import { FLOWS_CAPABILITY } from '../core/index.ts';
import type { FlowDeclaration, JsonObject, NodeId, ScheduleId, SessionId } from '../core/index.ts';
import { ownHandshake } from '../contract/index.ts';
import type { Store } from '../store/index.ts';
import { lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock, settled } from '../../../test/rig/virtual-clock.ts';

let clock: VirtualClock;
let store: Store;
let led: Led;

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  led = await lead(store, clock);
  await led.leader.loaded;
});

const version = (no: number, ...schedules: JsonObject[]): FlowDeclaration => ({
  name: 'report',
  version: `${no}`.padEnd(12, '0'),
  input: {},
  template: {
    ...(schedules.length === 0 ? {} : { schedules }),
    tasks: [{ id: `v${no}`, executor: 'report', input: { $input: '' } }],
  },
});
const hourly = { everyMs: 3_600_000, input: { shop: 'north' } };
const [v1, v2, v3] = [version(1, hourly), version(2, hourly, { id: 'b', ...hourly }), version(3)];

const session = (name: string) => ({
  nodeId: name as NodeId,
  sessionId: `${name}-session` as SessionId,
});

async function register(name: string, ...flows: FlowDeclaration[]): Promise<void> {
  const { nodeId: id, sessionId } = session(name);
  const versions = flows.map((flow) => `${flow.name}@${flow.version}`);
  await led.leader.workers.register(
    {
      ...{ id, sessionId, slots: 1, prefetch: 0, executors: ['report'] },
      ...{ capabilities: { [FLOWS_CAPABILITY]: versions }, address: null, version: '0.1.0' },
    },
    ownHandshake(),
    [],
    flows,
  );
}

async function beat(name: string): Promise<void> {
  await led.leader.workers.heartbeat({ ...session(name), held: [], executors: [], seenPoll: 0 });
  await settled();
}

async function shown(): Promise<unknown> {
  const rows = await store.schedules(0);
  return rows.map(({ id, spec, paused }) => {
    const { document } = JSON.parse(spec) as { document?: { tasks: readonly { id: string }[] } };
    return `${id} ${document?.tasks[0]?.id ?? 'declined'}${paused ? ' paused' : ''}`;
  });
}

const commits = async (): Promise<number> =>
  (await store.events(0, 0, 1_000)).filter(({ kind }) => kind.startsWith('schedule.')).length;

const containing = (text: string): unknown => expect.stringContaining(text);

test('the schedules of a flow are there when its first worker has registered', async () => {
  await register('a', v1);
  expect(await shown()).toEqual(['report v1']);
  expect(led.leader.flows.list()).toMatchObject([{ schedules: [{ id: 'report' }] }]);
  const [row] = await store.schedules(0);
  expect(JSON.parse(row?.spec ?? '')).toMatchObject({
    ...{ flow: 'report', input: { shop: 'north' }, declared: true, timing: { everyMs: 3_600_000 } },
  });
});

test('a hundred workers with the same flow write it once', async () => {
  await Promise.all(Array.from({ length: 100 }, (_, no) => register(`w-${no}`, v1)));
  for (let no = 0; no < 100; no += 1) await beat(`w-${no}`);
  expect(await commits()).toBe(1);
});

test('they follow the current version, also back when the last node of the new one has gone', async () => {
  await register('old', v1);
  await register('new', v2);
  expect(await shown()).toEqual(['b v2', 'report v2']);
  // It reconnects: the new version counts.
  await register('old', v1);
  await beat('old');
  expect(await shown()).toEqual(['b v2', 'report v2']);
  await led.leader.workers.leave(session('new'));
  await beat('old');
  expect(await shown()).toEqual(['report v1']);
});

test('they stay when the last worker goes, and go with a version that has none', async () => {
  await register('a', v1);
  await led.leader.workers.leave(session('a'));
  await register('unrelated');
  await beat('unrelated');
  expect(await shown()).toEqual(['report v1']);
  await register('c', v3);
  expect(await shown()).toEqual([]);
});

test('a new leader goes on: what was committed stays, and what was not is done', async () => {
  await register('a', v1);
  await led.leader.schedules.change('report' as ScheduleId, 'pause');
  await store.resign(led.leader.term);
  led = await lead(store, clock);
  await led.leader.loaded;
  // As if the leader before had died after the flow and before its schedules.
  await led.leader.flows.declare([v2]);
  await beat('a');
  expect(await shown()).toEqual(['report v1 paused']);
  await register('b', v2);
  expect(await shown()).toEqual(['b v2', 'report v2 paused']);
});

test('one that was put by hand is not touched, and the flow says so', async () => {
  const put = { everyMs: 1_000, document: { tasks: [{ id: 'mine', executor: 'echo' }] } };
  await led.leader.schedules.put('report' as ScheduleId, put);
  await register('a', v2);
  expect(await shown()).toEqual(['b v2', 'report mine']);
  expect(led.leader.flows.list()).toMatchObject([
    { schedules: [{ id: 'report', note: containing('by hand') }, { id: 'b' }] },
  ]);
  // What the leader shows of a declared one, sent back, is by hand as well.
  const [row] = await store.schedules(0);
  await led.leader.schedules.put('b' as ScheduleId, JSON.parse(row?.spec ?? ''));
  await register('c', v3);
  // By name it follows the flow, as all do that are put by hand.
  expect(await shown()).toEqual(['b v3', 'report mine']);
});

test('one that cannot be is noted and keeps what it has, and the others are there', async () => {
  await register('a', v1);
  const wrong = version(4, { cron: '99 * * * *' }, { id: 'b', ...hourly }, { id: 'x y', at: 1 });
  await register('b', wrong);
  expect(await shown()).toEqual(['b v4', 'report v1']);
  const [{ schedules = [] } = { schedules: [] }] = led.leader.flows.list();
  expect(schedules.map(({ note }) => note ?? null)).toEqual([
    expect.stringContaining('/cron'),
    null,
    expect.stringContaining('not a valid schedule id'),
  ]);
});

test('a flow that is forgotten takes them along, until a worker registers it again', async () => {
  await register('a', v1);
  await led.leader.flows.forget('report');
  expect(await shown()).toEqual([]);
  await register('a', v1);
  expect(await shown()).toEqual(['report v1']);
});

test('one that was deleted does not come back with the next worker', async () => {
  await register('a', v1);
  await led.leader.schedules.change('report' as ScheduleId, 'delete');
  await register('b', v1);
  await store.resign(led.leader.term);
  led = await lead(store, clock);
  await led.leader.loaded;
  await register('c', v1);
  expect(await shown()).toEqual(['report declined']);
  expect(led.leader.flows.list()).toMatchObject([
    { schedules: [{ note: containing('It was deleted') }] },
  ]);
});
