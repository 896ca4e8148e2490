import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { TestProcess } from '../rig/cluster/process.ts';
import { expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { millrace } from '../rig/cluster/command.ts';
import { until } from '../rig/until.ts';

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
