import { expect, test } from 'vitest';
import { expectAllEnded, startTestCluster } from '../rig/cluster/test-cluster.ts';

function from(task: string, path?: string): object {
  return { value: path === undefined ? { $from: task } : { $from: task, path } };
}

test('a leader and two workers run a graph: ids, results and events are as they should be', async () => {
  const fixture = await startTestCluster({ workers: 2, slots: 2 });
  const { client } = fixture;
  const submitted = await client.submit({
    name: 'diamond',
    tasks: [
      { id: 'top', executor: 'note', input: { value: { rows: [1, 2] } } },
      { id: 'left', executor: 'note', dependsOn: ['top'], input: from('top', '/value/rows/0') },
      { id: 'right', executor: 'note', dependsOn: ['top'], input: from('top', '/value/rows/1') },
      { id: 'bottom', executor: 'note', dependsOn: ['left', 'right'], input: from('right') },
    ],
  });
  expect(submitted.id).toMatch(/^[0-9a-f-]{36}$/);
  expect(submitted.state).toBe('queued');
  const job = await client.waitForJob(submitted.id);
  expect(job).toMatchObject({ id: submitted.id, state: 'succeeded', name: 'diamond' });
  const signed = { attempt: 1, fence: expect.any(Number) as number };
  const right = { signed, value: 2 };
  expect(job.tasks.map(({ id, state, result }) => ({ id, state, result }))).toEqual([
    { id: 'top', state: 'succeeded', result: { signed, value: { rows: [1, 2] } } },
    { id: 'left', state: 'succeeded', result: { signed, value: 1 } },
    { id: 'right', state: 'succeeded', result: right },
    { id: 'bottom', state: 'succeeded', result: { signed, value: right } },
  ]);
  expect(new Set(job.tasks.map(({ node }) => node))).toEqual(new Set(['w-1', 'w-2']));
  const kinds: string[] = [];
  const bottom: string[] = [];
  for await (const { event, data } of client.events({
    job: job.id,
    signal: AbortSignal.timeout(20_000),
  })) {
    kinds.push(event);
    if ((JSON.parse(data) as { task: string | null }).task === 'bottom') bottom.push(event);
    if (event === 'job.succeeded') break;
  }
  expect(kinds[0]).toBe('job.created');
  expect(kinds.filter((kind) => kind === 'completed')).toHaveLength(4);
  expect(bottom).toEqual(['created', 'queued', 'assigned', 'started', 'completed']);
  await expectAllEnded(fixture);
});

test('an `auto` node that is alone leads and executes', async () => {
  const fixture = await startTestCluster({ slots: 1 });
  const { id } = await fixture.client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  const job = await fixture.client.waitForJob(id);
  expect(job.tasks[0]).toMatchObject({ state: 'succeeded', node: 'n-1' });
  await expectAllEnded(fixture);
});
