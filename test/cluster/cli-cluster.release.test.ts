import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { TestProcess } from '../rig/cluster/process.ts';
import { expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { millrace } from '../rig/cluster/command.ts';
import { until } from '../rig/until.ts';
import { deferred } from '../../src/kit/index.ts';
import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import { sseEvents } from '../rig/cluster/sse.ts';

/** What one node tells after an event, until `isEnough`, or until the node is gone. */
async function read(
  node: ClusterNode,
  lastEventId: number | null,
  isEnough: (id: number) => boolean,
): Promise<number[]> {
  const headers = lastEventId === null ? {} : { 'last-event-id': `${lastEventId}` };
  const after = lastEventId === null ? '?after=0' : '';
  const url = new URL(`/api/v1/events${after}`, node.plan.url ?? '');
  const numbers: number[] = [];
  const { body, status } = await fetch(url, { headers, signal: AbortSignal.timeout(30_000) });
  expect(status).toBe(200);
  if (body === null) return numbers;
  try {
    for await (const { id } of sseEvents(body, () => {})) {
      numbers.push(id);
      if (isEnough(id)) break;
    }
  } catch (error) {
    // It was killed in the middle of a line.
    if (!(error instanceof TypeError)) throw error;
  }
  return numbers;
}

test('a stream of events is resumed at another node after a change of leaders: no gap, nothing twice', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 1 });
  const { cluster } = fixture;
  const leader = cluster.node('n-1');
  const first = await cluster.client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  await cluster.client.waitForJob(first.id);
  const begun = deferred();
  const before = read(leader, null, () => {
    begun.resolve();
    return false;
  });
  await begun.promise;
  const job = await cluster.client.submit({
    tasks: Array.from({ length: 20 }, (_, at) => ({ id: `t${at}`, executor: 'note' })),
  });
  await cluster.effects.wait({ job: job.id, what: 'end' }, 5);
  await leader.process.crash();
  const seen = await before;
  expect(seen.length).toBeGreaterThan(0);
  await cluster.client.waitForJob(job.id);
  const last = await cluster.client.waitForEvent(({ event }) => event === 'job.succeeded', {
    job: job.id,
  });
  const from = seen.at(-1) ?? 0;
  // If all was seen before the kill there is nothing left to read but signs of life.
  const rest = from >= last.id ? [] : await read(cluster.node('n-2'), from, (id) => id >= last.id);
  const all = [...seen, ...rest];
  expect(all).toEqual(Array.from({ length: all.length }, (_, at) => at + 1));
  expect(all.length).toBeGreaterThanOrEqual(last.id);
  await expectCleanEnd(fixture);
});

test('an unreachable server has exit code 3, unlike wrong use', async () => {
  const { cluster } = await startTestCluster({ workers: 0 });
  const { plan } = cluster.node('n-1');
  const document = cluster.file('job.json');
  writeFileSync(document, '{"tasks":[{"id":"a","executor":"note"}]}');
  await cluster.stop();
  const refused = await millrace(['submit', document, '--server', plan.url ?? '']);
  expect(refused).toMatchObject({ code: 3, out: '' });
  // A slow machine also says that it waits, before it gives up.
  expect(refused.err).toMatch(/^millrace: .+/m);
  expect(refused.err).not.toMatch(/^ {4}at /m);
});

test('commands find the leader from any node, and follow the log over its death', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 1 });
  const { cluster } = fixture;
  const server = cluster.node('n-2').plan.url ?? '';
  const follower = TestProcess.start(['events', '--follow', '--json', '--server', server]);
  const document = cluster.file('job.json');
  const submit = async (task: string): Promise<string> => {
    writeFileSync(document, JSON.stringify({ tasks: [{ id: task, executor: 'note' }] }));
    const said = await millrace(['submit', document, '--server', server]);
    expect(said).toMatchObject({ code: 0, err: '' });
    const id = said.out.trim();
    cluster.client.acknowledged.add(id);
    return id;
  };
  const first = await submit('before');
  await cluster.client.waitForJob(first);
  await cluster.node('n-1').process.crash();
  const second = await submit('after');
  expect(await cluster.client.waitForJob(second)).toMatchObject({ state: 'succeeded' });
  await follower.line(new RegExp(`"kind":"job.succeeded".*"job":"${second}"`));
  const heard = follower.output.lines
    .filter(({ from }) => from === 'stdout')
    .map(({ text }) => (JSON.parse(text) as { seq: number }).seq);
  expect(heard).toEqual(heard.map((_, at) => (heard[0] ?? 0) + at));
  follower.kill('SIGINT');
  expect(await follower.exited).toEqual({ code: 130, signal: null });

  const hanging = await cluster.client.submit({ tasks: [{ id: 'a', executor: 'hang' }] });
  await cluster.effects.wait({ job: hanging.id, what: 'begin' });
  const cancelled = await millrace(['cancel', hanging.id, '--server', server]);
  expect(cancelled).toMatchObject({ code: 0, err: '' });
  await until(
    async () => (await millrace(['job', hanging.id, '--server', server])).out.includes('cancelled'),
    'the job to be cancelled',
  );
  await expectCleanEnd(fixture);
});
