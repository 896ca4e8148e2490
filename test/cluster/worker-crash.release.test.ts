import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Proxy, targetOf } from '../rig/cluster/proxy.ts';
import { LONG_TTL, kindsOf, MARK, lossyWay } from './worker-crash-setup.ts';
import { stderrLine } from '../rig/cluster/command.ts';
import { expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { until } from '../rig/until.ts';

test('a worker that lives keeps its task when its connections are reset and its address refuses', async () => {
  const fixture = await startTestCluster({ workers: 0, settings: LONG_TTL });
  const { cluster } = fixture;
  const { grpc } = (await cluster.leading()).plan;
  const way = await Proxy.start(targetOf(`tcp://${grpc}`));
  const worker = await cluster.startWorker({ isProxied: true, servers: [way.address] });
  const file = cluster.file('go');
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: id, what: 'begin' });
  await cluster.startWorker();
  await worker.plan.ways?.grpc.refuse();
  way.cut();
  // Its next task shows that it is back, long after anybody has looked for it.
  for (let at = 0; at < 3; at += 1) {
    const next = await cluster.client.submit({
      tasks: [{ id: 'b', executor: 'note', placement: { allowedNodes: ['w-1'] } }],
    });
    expect(await cluster.client.waitForJob(next.id)).toMatchObject({ state: 'succeeded' });
    way.cut();
  }
  writeFileSync(file, '');
  expect(await cluster.client.waitForJob(id)).toMatchObject({
    state: 'succeeded',
    tasks: [{ node: 'w-1', attempt: 1 }],
  });
  expect(cluster.effects.all({ job: id, what: 'begin' })).toHaveLength(1);
  expect(await kindsOf(cluster, id)).not.toContain('reassigned');
  await expectCleanEnd(fixture);
});

test('a second worker with the name of a living one is refused, and costs no task', async () => {
  const fixture = await startTestCluster({ workers: 1, settings: LONG_TTL });
  const { cluster } = fixture;
  const file = cluster.file('go');
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: id, what: 'begin' });
  const twin = await cluster.planWorker({ id: 'w-1' });
  await stderrLine(twin.launch(), /Another worker with the name w-1 .*is connected/);
  writeFileSync(file, '');
  expect(await cluster.client.waitForJob(id)).toMatchObject({
    state: 'succeeded',
    tasks: [{ node: 'w-1', attempt: 1 }],
  });
  expect(await kindsOf(cluster, id)).not.toContain('reassigned');
  await twin.process.crash();
  await expectCleanEnd(fixture);
});

test('the loss of a full worker is detected before its TTL, and its unstarted lease goes to another', async () => {
  const fixture = await startTestCluster({ workers: 0, settings: LONG_TTL });
  const { cluster } = fixture;
  await cluster.startWorker({ slots: 1, args: ['--prefetch', '1'] });
  const file = cluster.file('go');
  const running = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: running.id, what: 'begin' });
  const waiting = await cluster.client.submit({ tasks: [{ id: 'b', executor: 'note' }] });
  await cluster.client.waitForEvent(({ event }) => event === 'assigned', { job: waiting.id });
  await cluster.startWorker();
  await cluster.node('w-1').process.crash();
  writeFileSync(file, '');
  for (const { id } of [running, waiting])
    expect(await cluster.client.waitForJob(id)).toMatchObject({
      state: 'succeeded',
      tasks: [{ node: 'w-2' }],
    });
  expect(cluster.effects.all({ job: waiting.id }).map(({ what }) => what)).toEqual([
    'begin',
    'end',
  ]);
  await expectCleanEnd(fixture);
});

test('an effect that was not reported is repeated under the same key', async () => {
  const fixture = await startTestCluster({ workers: 1, settings: LONG_TTL });
  const { cluster } = fixture;
  const file = cluster.file('go');
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'effectThenWait', input: { file } }],
  });
  await cluster.effects.wait({ job: id, what: 'effect' });
  await cluster.startWorker();
  await cluster.node('w-1').process.crash();
  const effects = await cluster.effects.wait({ job: id, what: 'effect' }, 2);
  expect(effects.map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(new Set(effects.map(({ key }) => key)).size).toBe(1);
  writeFileSync(file, '');
  expect(await cluster.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
  expect(await kindsOf(cluster, id)).toEqual(expect.arrayContaining(['reassigned', 'completed']));
  await expectCleanEnd(fixture);
});

test('a step that was finished is not done again by the next attempt', async () => {
  const fixture = await startTestCluster({ workers: 0, settings: LONG_TTL });
  const { cluster } = fixture;
  const [done, stepped] = [cluster.file('done'), cluster.file('stepped')];
  const module = cluster.file('stepper.mjs');
  writeFileSync(
    module,
    `import { appendFileSync } from 'node:fs';
     export const stepper = { kind: 'millrace.task', name: 'stepper', run: async (_, context) => {
       const value = await context.step('once', () => {
         appendFileSync(${JSON.stringify(done)}, 'done ');
         return 42;
       });
       appendFileSync(${JSON.stringify(stepped)}, 'stepped ');
       if (context.attempt === 1) await new Promise(() => {});
       return value;
     } };`,
  );
  const worker = await cluster.startWorker({ modules: [module] });
  const { id } = await cluster.client.submit({ tasks: [{ id: 'a', executor: 'stepper' }] });
  await until(async () => existsSync(stepped), 'the step to be finished');
  await cluster.startWorker({ modules: [module] });
  await worker.process.crash();
  expect(await cluster.client.waitForJob(id)).toMatchObject({
    state: 'succeeded',
    tasks: [{ node: 'w-2', attempt: 2, result: 42 }],
  });
  expect(readFileSync(done, 'utf8')).toBe('done ');
  expect(readFileSync(stepped, 'utf8')).toBe('stepped stepped ');
  await expectCleanEnd(fixture);
});

test('a report whose answer is lost is sent again, and answered as accepted', async () => {
  const fixture = await startTestCluster({ workers: 0 });
  const { cluster } = fixture;
  const way = await lossyWay(cluster);
  await cluster.startWorker({ servers: [way.address], slots: 1 });
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'note', input: { value: MARK } }],
  });
  expect(await cluster.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
  await stderrLine(cluster.node('w-1').process, /A report was not acknowledged/);
  const next = await cluster.client.submit({ tasks: [{ id: 'b', executor: 'note' }] });
  expect(await cluster.client.waitForJob(next.id)).toMatchObject({ state: 'succeeded' });
  expect((await kindsOf(cluster, id)).filter((kind) => kind === 'completed')).toHaveLength(1);
  expect(cluster.effects.all({ job: id, what: 'begin' })).toHaveLength(1);
  await expectCleanEnd(fixture);
});
