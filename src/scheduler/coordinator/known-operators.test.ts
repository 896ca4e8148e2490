import { beforeEach, expect, test } from 'vitest';
import type { NodeOffer, OperatorDeclaration } from '../core/index.ts';
import { ownHandshake } from '../contract/index.ts';
import type { Store } from '../store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';

let clock: VirtualClock;
let store: Store;
let led: Led;

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  led = await lead(store, clock);
  await led.leader.loaded;
});

const GEO: OperatorDeclaration = {
  name: 'geo',
  kind: 'operator',
  input: null,
  output: [{ name: 'km', type: 'DOUBLE' }],
  distribution: 'any',
  parameters: [{ name: 'unit', type: 'string', isRequired: true }],
  isDeterministic: true,
};

const OFFER = {
  ...{ id: 'w', sessionId: 's', slots: 1, prefetch: 0, executors: ['echo', 'operator:geo'] },
  ...{ capabilities: {}, address: null, version: '0.1.0' },
} as unknown as NodeOffer;

const declare = (...operators: OperatorDeclaration[]): Promise<unknown> =>
  led.leader.workers.register(OFFER, ownHandshake(), operators);

test('a new leader knows the operators that workers declared to the one before', async () => {
  await declare(GEO);
  await store.resign(led.leader.term);
  led = await lead(store, clock);
  expect(led.leader.operators.list).toEqual([GEO]);
});

test('another declaration of a known name is refused, and so is the registration, until it is forgotten', async () => {
  await declare(GEO);
  const other: OperatorDeclaration = { ...GEO, output: [{ name: 'miles', type: 'DOUBLE' }] };
  await expect(declare(other)).rejects.toMatchObject({ code: 'conflict' });
  expect(led.leader.operators.list).toEqual([GEO]);
  await led.leader.operators.forget('geo');
  await expect(led.leader.operators.forget('geo')).rejects.toMatchObject({ code: 'not_found' });
  await declare(other);
  expect(await store.declarations(0, 'operator')).toEqual([
    { id: 'geo', declaration: JSON.stringify(other) },
  ]);
});

test('parameters may change from one version of a worker to the next', async () => {
  await declare(GEO);
  const wider = { ...GEO, parameters: null };
  await declare(wider);
  expect(led.leader.operators.list).toEqual([wider]);
});

const submit = (): Promise<unknown> => {
  const task = { id: 'a', executor: 'echo', placement: { executors: ['operator:geo'] } };
  return led.leader.jobs.submit({ name: 'one', tasks: [task] }, { jobId: jobId('one') });
};

test('a heartbeat that leaves out an operator ends its work there, and one that names it brings it back', async () => {
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo', 'operator:geo']);
  const beat = (executors: readonly string[]): Promise<unknown> =>
    led.leader.workers.heartbeat({ ...worker.session, held: [], seenPoll: 0, executors });
  await beat(['echo']);
  await submit();
  expect(await worker.pollNow(1)).toEqual([]);
  await beat(['echo', 'operator:geo']);
  expect(await worker.pollNow(1)).toHaveLength(1);
});

test('a task of the same name is not the operator', async () => {
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo', 'geo']);
  await submit();
  expect(await worker.pollNow(1)).toEqual([]);
});
