import { expect, test } from 'vitest';
import { moduleOf } from './placement-setup.ts';
import { stderrLine } from '../rig/cluster/command.ts';
import { expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';

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
