import { expect, test } from 'vitest';
import { instant } from '../core/index.ts';
import type { FlowDeclaration, Json, NodeId, TermId } from '../core/index.ts';
import { openMemoryStore } from '../store/index.ts';
import type { Store, Term } from '../store/index.ts';
import { KnownFlows } from './known-flows.ts';
import type { FlowNode } from './known-flows.ts';

async function ledStore(): Promise<{ readonly store: Store; readonly term: Term }> {
  const store = openMemoryStore({ now: () => instant(0) });
  const asked = { nodeId: 'n', url: null, grpc: null, ttlMs: 1_000 };
  const campaign = await store.campaign({ shard: 0, term: 't' as TermId, ...asked });
  if (!campaign.won) throw new Error('not elected');
  return { store, term: campaign.term };
}

const flow = (version: string, executor = version): FlowDeclaration => ({
  name: 'order',
  version: version.padEnd(12, '0'),
  input: null,
  template: { name: 'order', tasks: [{ id: 'a', executor }] },
});
const [v1, v2] = [flow('1'), flow('2')];

function cluster(): { nodes: FlowNode[]; has: (...versions: FlowDeclaration[]) => void } {
  const cluster = {
    nodes: [] as FlowNode[],
    has: (...versions: FlowDeclaration[]) => {
      cluster.nodes = versions.map(({ name, version }, at) => ({
        id: `w-${at}` as NodeId,
        flows: [`${name}@${version}`],
      }));
    },
  };
  return cluster;
}

async function known(): Promise<{
  readonly flows: KnownFlows;
  readonly live: ReturnType<typeof cluster>;
  readonly again: () => Promise<KnownFlows>;
  readonly executor: (flows?: KnownFlows) => string;
}> {
  const live = cluster();
  const { store, term } = await ledStore();
  const settings = { inputBytesMax: 1_000 };
  const again = (): Promise<KnownFlows> =>
    KnownFlows.load({ store, term, settings, nodes: () => live.nodes });
  const flows = await again();
  const executor = (of = flows): string => {
    const made = of.document({ flow: 'order' }) as { tasks: readonly { executor: string }[] };
    return made.tasks[0]?.executor ?? '';
  };
  return { flows, live, again, executor };
}

test('a flow is known from its first registration on, also to the next leader', async () => {
  const { flows, again, executor } = await known();
  expect(() => flows.check('order')).toThrow("There is no flow 'order'.");
  expect(await flows.declare([v1])).toEqual(['order']);
  expect(await flows.declare([v1])).toEqual([]);
  expect(executor(await again())).toBe('1');
  expect(flows.list()).toEqual([
    {
      name: 'order',
      version: v1.version,
      input: { type: 'null' },
      on: [],
      schedules: [],
      nodes: [],
    },
  ]);
});

test('during a deployment the newest version is started, whoever registers again', async () => {
  const { flows, live, executor } = await known();
  await flows.declare([v1]);
  live.has(v1, v1);
  await flows.declare([v2]);
  live.has(v1, v2);
  expect(executor()).toBe('2');
  // A worker of the old version has lost its connection.
  await flows.declare([v1]);
  expect(executor()).toBe('2');
  expect(flows.list()).toMatchObject([{ version: v2.version, nodes: ['w-0', 'w-1'] }]);
});

test('a deployment that is rolled back is followed when its last node is gone', async () => {
  const { flows, live, again, executor } = await known();
  await flows.declare([v1]);
  await flows.declare([v2]);
  live.has(v1, v2);
  expect(executor()).toBe('2');
  live.has(v1);
  expect(executor()).toBe('1');
  // Nobody is there: what was newest is what will most likely come back.
  live.has();
  expect(executor(await again())).toBe('2');
});

test('keeps as many versions as a deployment needs', async () => {
  const { flows, live, executor } = await known();
  for (const each of ['1', '2', '3', '4', '5']) await flows.declare([flow(each)]);
  live.has(flow('2'));
  expect(executor()).toBe('2');
  live.has(v1);
  expect(executor()).toBe('5');
});

test('a forgotten flow cannot be started, until it is published again', async () => {
  const { flows, again } = await known();
  await flows.declare([v1]);
  await flows.forget('order');
  await expect(flows.forget('order')).rejects.toMatchObject({ code: 'not_found' });
  expect((await again()).list()).toEqual([]);
  expect(() => flows.document({ flow: 'order' }, '/a')).toThrow("There is no flow 'order'");
  expect(await flows.declare([v1])).toEqual(['order']);
});

test.each([
  ['a name that is not text', { flow: 7 }, '/flow'],
  ['an output of its own', { flow: 'order', output: 1 }, '/output'],
  ['an input for a flow without one', { flow: 'order', input: 1 }, '/input'],
  ['a flow that is not known', { flow: 'ordr' }, '/flow'],
])('refuses %s', async (_, value, path) => {
  const { flows } = await known();
  await flows.declare([v1]);
  let thrown: unknown;
  try {
    flows.document(value);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ code: 'bad_input', path });
});

test('a job document is left as it is, and fields of the job win over those of the flow', async () => {
  const { flows } = await known();
  await flows.declare([v1]);
  const document = { tasks: [] };
  expect(flows.document(document)).toBe(document);
  expect(flows.document(null)).toBeNull();
  expect(flows.document({ flow: 'order', name: 'mine', priority: 0 })).toEqual({
    name: 'mine',
    priority: 0,
    tasks: [{ id: 'a', executor: '1' }],
  });
});

const listening = (version: string, on: unknown): FlowDeclaration => {
  const { template, ...rest } = flow(version);
  return { ...rest, template: { ...template, on } as FlowDeclaration['template'] };
};

const nothing = (): Json => null;

test('an event starts the flows whose current version names it', async () => {
  const { flows, live, again } = await known();
  const [old, fresh] = [listening('1', ['a', 'b']), listening('2', ['b', '__proto__'])];
  await flows.declare([old]);
  live.has(old);
  expect(flows.listening('a', nothing)).toMatchObject([{ name: 'order', version: old.version }]);
  await flows.declare([fresh]);
  live.has(old, fresh);
  expect([flows.listening('a', nothing), flows.listening('b', nothing).length]).toEqual([[], 1]);
  expect((await again()).listening('__proto__', nothing)).toHaveLength(1);
  expect(flows.listening('constructor', nothing)).toEqual([]);
  expect(flows.list()).toMatchObject([{ on: ['b', '__proto__'] }]);
  // The job document has no such field.
  expect(flows.document({ flow: 'order' })).not.toHaveProperty('on');
  live.has(old);
  expect(flows.listening('a', nothing)).toHaveLength(1);
  await flows.forget('order');
  expect([flows.listening('b', nothing), flows.events()]).toEqual([[], []]);
});

test('an event starts a flow whose condition its data fulfils, of several any', async () => {
  const { flows, live, again } = await known();
  const match = (region: unknown) => ({ event: 'a', match: { 'at.region': region } });
  const on = [match('eu'), match('us'), 'b'];
  const given = listening('1', on);
  await flows.declare([given]);
  live.has(given);
  const started = async (data: Json): Promise<readonly number[]> =>
    [flows, await again()].map((each) => each.listening('a', () => data).length);
  expect(await started({ at: { region: 'eu' } })).toEqual([1, 1]);
  expect(await started({ at: { region: 'us' }, more: 1 })).toEqual([1, 1]);
  const others = [
    { at: { region: 'jp' } },
    { at: {} },
    { region: 'eu' },
    { 'at.region': 'eu' },
    null,
    'eu',
    [],
  ];
  for (const data of others) expect(await started(data)).toEqual([0, 0]);
  expect(flows.listening('b', nothing)).toHaveLength(1);
  expect([flows.naming('a'), flows.naming('c'), flows.events()]).toEqual([
    ['order'],
    [],
    ['a', 'b'],
  ]);
  expect(flows.list()).toMatchObject([{ on }]);
});

test('what another version has stored and this one cannot read does not stop a leader', async () => {
  const { flows, again } = await known();
  await flows.declare([listening('1', 'not a list'), { ...flow('2'), name: 'other' }]);
  const next = await again();
  expect(next.list().map(({ name }) => name)).toEqual(['other']);
  expect(await next.declare([v2])).toEqual(['order']);
  expect(next.list().map(({ name }) => name)).toEqual(['order', 'other']);
});
