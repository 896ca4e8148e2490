import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { Cluster, ClusterOptions } from '../rig/cluster/cluster.ts';
import { eventsOf, expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';
import { millrace, stderrLine } from '../rig/cluster/command.ts';
import { until } from '../rig/until.ts';

/** A module with one task. */
function moduleOf(cluster: Cluster, name: string, run: string, head = ''): string {
  const file = cluster.file(`${name}-${run.length}.mjs`);
  const task = `{ kind: 'millrace.task', name: '${name}', run: ${run} }`;
  writeFileSync(file, `${head}\nexport const task = ${task};\n`);
  return file;
}

test('tasks run where executors, capabilities and lists of nodes let them', async () => {
  const fixture = await startTestCluster({ workers: 0 });
  const { cluster } = fixture;
  const gpu = ['--capability', 'gpu=nvidia', '--capability', 'ram=64', '--capability', 'zone=eu'];
  const train = moduleOf(cluster, 'train', "() => 'trained'");
  await Promise.all([
    cluster.startWorker({ id: 'big', args: gpu, modules: [train] }),
    cluster.startWorker({
      id: 'small',
      args: ['--capability', 'ram=8', '--capability', 'zone=us'],
    }),
  ]);
  const cases = [
    [{ capabilities: { gpu: 'nvidia' } }, 'big'],
    [{ capabilities: { ram: 32 } }, 'big'],
    [{ capabilities: { ram: { '<': 32 } } }, 'small'],
    [{ capabilities: { zone: { in: ['us', 'asia'] } } }, 'small'],
    [{ capabilities: { gpu: { '!=': 'nvidia' } } }, 'small'],
    [{ executors: ['train'] }, 'big'],
    [{ executorsAny: ['train', 'nothing'] }, 'big'],
    [{ allowedNodes: ['small'] }, 'small'],
    [{ forbiddenNodes: ['small'] }, 'big'],
    [{ allowedNodes: ['small', 'big'], forbiddenNodes: ['big'] }, 'small'],
  ] as const;
  const { id } = await cluster.client.submit({
    tasks: cases.map(([placement], at) => ({ id: `t${at}`, executor: 'note', placement })),
  });
  const job = await cluster.client.waitForJob(id);
  expect(job.tasks.map(({ node }) => node)).toEqual(cases.map(([, node]) => node));
  await expectCleanEnd(fixture);
});

test('a worker that lacks what it is expected to have ends with 2 and names it, before it registers', async () => {
  const fixture = await startTestCluster({ workers: 0 });
  const { cluster } = fixture;
  const worker = await cluster.planWorker({ args: ['--expect', 'note', '--expect', 'trian'] });
  expect(await worker.launch().exited).toEqual({ code: 2, signal: null });
  await stderrLine(worker.process, /Expected but not registered on this worker: trian/);
  expect(await cluster.client.nodes()).toEqual([]);
  await cluster.stop();
});

const EXECUTORS = fileURLToPath(new URL('../../dist/tasks/executors/index.js', import.meta.url));

/** The one task of a job, as the API shows it, once `fits` is true of what it waits for. */
async function waitingFor(cluster: Cluster, job: string, fits: RegExp): Promise<string> {
  return until(async () => {
    const { tasks } = (await cluster.client.job(job)) as unknown as {
      tasks: readonly { waiting: string | null }[];
    };
    return tasks.map(({ waiting }) => waiting ?? '').find((waiting) => fits.test(waiting));
  }, `a task of ${job} to wait for ${fits}`);
}

async function metric(cluster: Cluster, name: string): Promise<number> {
  const text = await (await fetch(new URL('/metrics', cluster.urls[0]))).text();
  const [, value] = new RegExp(`^${name} (\\S+)$`, 'm').exec(text) ?? [];
  return Number(value);
}

test('a node runs no more of a kind than the placement allows', async () => {
  const fixture = await startTestCluster({ workers: 2, slots: 4 });
  const { cluster } = fixture;
  const file = cluster.file('go');
  const placement = { maxParallelPerNode: 1 };
  const { id } = await cluster.client.submit({
    tasks: ['a', 'b', 'c', 'd'].map((task) => ({
      id: task,
      executor: 'waitForFile',
      input: { file },
      placement,
    })),
  });
  const begun = await cluster.effects.wait({ job: id, what: 'begin' }, 2);
  expect(new Set(begun.map(({ pid }) => pid)).size).toBe(2);
  await waitingFor(cluster, id, /each node that fits runs 1 of these already/);
  expect(cluster.effects.all({ job: id, what: 'begin' })).toHaveLength(2);
  writeFileSync(file, '');
  expect(await cluster.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
  await expectCleanEnd(fixture);
});

test('in a partial deployment, tasks that no node can run wait, explain why, and run when a node can', async () => {
  const fixture = await startTestCluster({ workers: 0 });
  const { cluster } = fixture;
  const old = moduleOf(cluster, 'alpha', "() => 'old'");
  await cluster.startWorker({ modules: [old] });
  const { id } = await cluster.client.submit({
    tasks: [
      { id: 'a', executor: 'alpha' },
      { id: 'b', executor: 'beta' },
    ],
  });
  const why = "no node fits; the nearest, w-1, lacks executor 'beta'";
  expect(await waitingFor(cluster, id, /no node fits/)).toBe(why);
  const server = cluster.urls[0] ?? '';
  const explained = await millrace(['explain', `${id}/b`, '--server', server]);
  expect(explained).toMatchObject({ code: 0, err: '' });
  expect(explained.out).toMatch(/^Task b is ready for .*: no node fits; the nearest, w-1, lacks/);
  const asJson = await millrace(['explain', `${id}/b`, '--server', server, '--json']);
  expect(JSON.parse(asJson.out)).toMatchObject({
    code: 'no_node_fits',
    nearest: [{ nodeId: 'w-1', lacks: ["executor 'beta'"] }],
  });
  const isAlarming = async (): Promise<boolean> =>
    (await metric(cluster, 'millrace_unfit_task_seconds')) > 0;
  await until(isAlarming, 'the metrics to show that a task fits nowhere');
  await until(
    async () => (await cluster.client.job(id)).tasks[0]?.state === 'succeeded',
    'the task that fits',
  );
  const made = moduleOf(cluster, 'beta', "() => 'new and shiny'");
  await cluster.startWorker({ modules: [old, made] });
  expect(await cluster.client.waitForJob(id)).toMatchObject({
    state: 'succeeded',
    tasks: [{ node: 'w-1' }, { node: 'w-2', result: 'new and shiny' }],
  });
  expect(await metric(cluster, 'millrace_unfit_task_seconds')).toBe(0);
  await expectCleanEnd(fixture);
});

test('an executor that is missing at run time returns the task without counting an attempt', async () => {
  const fixture = await startTestCluster({ workers: 0, settings: { quarantineFailures: 1 } });
  const { cluster } = fixture;
  const head = `import { MissingOperatorError } from ${JSON.stringify(EXECUTORS)};`;
  const lacking = moduleOf(
    cluster,
    'custom',
    "() => { throw new MissingOperatorError('geo'); }",
    head,
  );
  await cluster.startWorker({ modules: [lacking] });
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'custom', retry: { maxAttempts: 1 } }],
  });
  const released = await cluster.client.waitForEvent(({ event }) => event === 'released', {
    job: id,
  });
  expect(JSON.parse(released.data)).toMatchObject({
    node: 'w-1',
    detail: { message: "custom physical operator 'geo' is not registered on worker" },
  });
  await waitingFor(cluster, id, /w-1 reported a missing executor/);
  expect(await cluster.client.nodes()).toMatchObject([{ id: 'w-1', quarantinedUntil: null }]);
  await cluster.startWorker({ modules: [moduleOf(cluster, 'custom', "() => 'made'")] });
  expect(await cluster.client.waitForJob(id)).toMatchObject({
    state: 'succeeded',
    tasks: [{ node: 'w-2', result: 'made' }],
  });
  const kinds = (await eventsOf(cluster, id)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'released')).toHaveLength(1);
  for (const counted of ['failed', 'retried']) expect(kinds).not.toContain(counted);
  await expectCleanEnd(fixture);
});

/** Two nodes, and w-1 has failed tasks of three jobs. */
async function distrusted(settings: ClusterOptions['settings'] = {}): Promise<TestCluster> {
  const fixture = await startTestCluster({ workers: 2, settings });
  const { cluster } = fixture;
  for (const id of ['x', 'y', 'z']) {
    const task = { id, executor: 'fail', retry: { maxAttempts: 1 } };
    await cluster.client.submit({ tasks: [{ ...task, placement: { allowedNodes: ['w-1'] } }] });
  }
  await cluster.client.waitForEvent(({ event }) => event === 'node.quarantined');
  return fixture;
}

test('a node on which tasks of several jobs fail is tried when the other is full, and a success releases it', async () => {
  const fixture = await distrusted();
  const { cluster } = fixture;
  const spare = await cluster.client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  expect(await cluster.client.waitForJob(spare.id)).toMatchObject({ tasks: [{ node: 'w-2' }] });
  const file = cluster.file('go');
  const { id } = await cluster.client.submit({
    tasks: ['a', 'b'].map((task) => ({
      id: task,
      executor: 'waitForFile',
      input: { file },
      placement: { maxParallelPerNode: 1 },
    })),
  });
  await cluster.effects.wait({ job: id, what: 'begin' }, 2);
  writeFileSync(file, '');
  const job = await cluster.client.waitForJob(id);
  expect(new Set(job.tasks.map(({ node }) => node))).toEqual(new Set(['w-1', 'w-2']));
  const released = await cluster.client.waitForEvent(({ event }) => event === 'node.released');
  expect(JSON.parse(released.data)).toMatchObject({ node: 'w-1', detail: { onProbation: false } });
  await expectCleanEnd(fixture);
});

test('an operator takes a node out of quarantine', async () => {
  const fixture = await distrusted();
  const { cluster } = fixture;
  const server = cluster.urls[0] ?? '';
  expect((await millrace(['nodes', '--server', server])).out).toMatch(/w-1 +healthy \(quarantined/);
  expect(await millrace(['release', 'w-1', '--server', server])).toMatchObject({ code: 0 });
  expect((await millrace(['nodes', '--server', server])).out).toMatch(/w-1 +healthy +\d/);
  await expectCleanEnd(fixture);
});
