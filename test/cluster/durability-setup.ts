/** Handlers that are killed, with their worker, their leader or everything, and go on where they were. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { Cluster } from '../rig/cluster/cluster.ts';

/** As it is compiled: nodes run what is compiled, too. */
const DURABLE_HANDLERS: string = fileURLToPath(
  new URL('../../dist/rig/cluster/modules/durable-handlers.js', import.meta.url),
);

/** Sessions that outlast what happens here: a loss is noticed by the process that is gone. */
const SETTINGS = { sessionTtlMs: 30_000, nodeDeadMs: 40_000 };
export const OPTIONS = { modules: [DURABLE_HANDLERS], settings: SETTINGS, slots: 8 };

export async function submit(cluster: Cluster, executor: string, input: object): Promise<string> {
  const { id } = await cluster.client.submit({ tasks: [{ id: 'a', executor, input }] });
  return id;
}

async function isSuspended(cluster: Cluster, job: string): Promise<void> {
  await cluster.client.waitForEvent(({ event }) => event === 'suspended', { job });
}

/** The effects of all tasks of the job, and of those it has called, as TASK NAME. */
export function effectsOf(cluster: Cluster, job: string): readonly string[] {
  return cluster.effects
    .all({ what: 'effect' })
    .filter((effect) => effect.job === job || effect.job.startsWith(`${job}.`))
    .map(({ task, name }) => `${task} ${name}`);
}

export async function expectSucceeded(cluster: Cluster, job: string): Promise<unknown> {
  const { state, tasks } = await cluster.client.waitForJob(job);
  expect({ job, state, error: tasks[0]?.error }).toEqual({ job, state: 'succeeded', error: null });
  const result = tasks.find(({ id }) => id === 'a')?.result as { readonly value: unknown };
  return result.value;
}

/** One job for each way of waiting, and all of them wait. The one that sleeps comes last. */
export interface Waiting {
  readonly file: string;
  readonly listening: string;
  readonly calling: string;
  readonly mapping: string;
  readonly sleeping: string;
}

export async function startWaiting(cluster: Cluster, sleepMs: number): Promise<Waiting> {
  const file = cluster.file('go');
  const [listening, calling, mapping] = await Promise.all(
    ['listening', 'calling', 'mapping'].map((executor) => submit(cluster, executor, { file })),
  );
  if (listening === undefined || calling === undefined || mapping === undefined) throw new Error();
  await Promise.all([listening, calling, mapping].map((job) => isSuspended(cluster, job)));
  // The called job is at work, and of the map two parts have ended and two are at work.
  await cluster.effects.wait({ name: 'between' });
  await cluster.effects.wait({ name: 'part' }, 4);
  const sleeping = await submit(cluster, 'sleeping', { ms: sleepMs });
  await isSuspended(cluster, sleeping);
  return { file, listening, calling, mapping, sleeping };
}

/** Everything goes on, and every step that was finished was done once. */
export async function expectAllGoOn(cluster: Cluster, waiting: Waiting): Promise<void> {
  const { file, listening, calling, mapping, sleeping } = waiting;
  await cluster.client.signal(listening, 'go', { yes: true });
  expect(await expectSucceeded(cluster, listening)).toEqual({ yes: true });
  writeFileSync(file, '');
  expect(await expectSucceeded(cluster, calling)).toMatchObject({ value: 'stood' });
  expect(await expectSucceeded(cluster, mapping)).toEqual([0, 1, 4, 9, 16, 25]);
  await expectSucceeded(cluster, sleeping);
  for (const job of [listening, sleeping]) {
    expect(effectsOf(cluster, job)).toEqual(['a before', 'a after']);
  }
  // Where a handler stands outside of steps it comes by again.
  const called = effectsOf(cluster, calling).filter((each) => each !== 'inner between');
  expect(called).toEqual(['a before', 'inner before', 'inner after', 'a after']);
  expect(effectsOf(cluster, mapping).toSorted()).toEqual([
    'a after',
    'a before',
    ...[0, 1, 2, 3, 4, 5].map((index) => `a.part.${index} part`),
  ]);
}
