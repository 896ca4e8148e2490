/** Signals that end no wait: whoever sent them, and whoever looks at the job, can see it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { LedCluster } from '../../../test/rig/led-cluster.ts';
import type { EventRow, Json, TaskId } from '../../scheduler/core/index.ts';
import type { TaskContext } from '../../tasks/executors/index.ts';
import { jobId } from '../../../test/rig/lead.ts';

let cluster: LedCluster;

beforeEach(async () => {
  cluster = await LedCluster.start();
});

afterEach(() => cluster.end());

async function begin(run: (context: TaskContext) => unknown): Promise<void> {
  await cluster.join({
    tasks: [{ name: 'it', run: (_input: Json, context) => run(context) }],
  });
  await cluster.submit('job', { id: 'a', executor: 'it' });
  await cluster.pass(100);
}

async function events(kind: EventRow['kind']): Promise<readonly unknown[]> {
  const rows: unknown[] = [];
  for (let after = 0; ;) {
    const page = await cluster.store.events(0, after, 1_000);
    if (page.length === 0) return rows;
    rows.push(
      ...page
        .filter((each) => each.kind === kind)
        .map(({ detail }): unknown => JSON.parse(detail ?? 'null')),
    );
    after = page.at(-1)?.seq ?? after + 1;
  }
}

async function why(): Promise<string | undefined> {
  return (await cluster.leader.jobs.explain(jobId('job'), 'a' as TaskId))?.why;
}

test('a signal that no task waits for is reported to its sender and in explain', async () => {
  await begin(({ waitFor }) => waitFor('approved'));
  const sent = await cluster.leader.jobs.signal(jobId('job'), 'aproved', '1', 'typo');
  expect(sent.signal).toEqual({ takenBy: null, awaited: ['approved'] });
  expect(await why()).toBe('waits for signal approved; received but not awaited: aproved');
  const right = await cluster.leader.jobs.signal(jobId('job'), 'approved', '1', 'right');
  expect(right.signal).toMatchObject({ takenBy: 'a' });
  await cluster.pass(1_000);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'succeeded' });
  expect(await events('job.signalled')).toMatchObject([
    { name: 'aproved', takenBy: null },
    { name: 'approved', takenBy: 'a' },
  ]);
  expect(await events('job.succeeded')).toEqual([{ untakenSignals: ['aproved'] }]);
});

test('a signal that does not match is an event, once, and is shown in explain', async () => {
  const schema = z.object({ by: z.string().trim().min(1) });
  await begin(async ({ waitFor, sleep: nap }) => {
    const { by } = await waitFor('decision', { schema });
    await nap('night', '1h');
    return by;
  });
  await cluster.signal('job', 'decision', { by: '' }, 's1');
  await cluster.pass(1_000);
  expect(await why()).toBe(
    'waits for signal decision; ignored because they do not match the schema: 1 of decision',
  );
  await cluster.changeLeader();
  expect(await why()).toContain('1 of decision');
  await cluster.signal('job', 'decision', { by: 'Ada' }, 's2');
  await cluster.pass(2 * 3_600_000);
  expect(await cluster.result('job', 'a')).toBe('Ada');
  expect(await events('job.signal_unfit')).toEqual([
    { name: 'decision', why: expect.stringContaining('/by') as string },
  ]);
});

test('a signal that cannot match is refused when it is sent, and the wait continues', async () => {
  const schema = z.object({ by: z.string(), answer: z.enum(['yes', 'no']) });
  await begin(({ waitFor }) => waitFor('decision', { schema }));
  const send = (value: Json): Promise<unknown> =>
    cluster.leader.jobs.signal(jobId('job'), 'decision', JSON.stringify(value), 'id');
  await expect(send('yes')).rejects.toMatchObject({
    code: 'bad_input',
    what: 'The signal decision does not match the schema that task a waits for: it must be object, not string.',
  });
  await expect(send({ by: 5, answer: 'yes' })).rejects.toMatchObject({ path: '/by' });
  await expect(send({ answer: 'yes' })).rejects.toThrow('its /by is missing');
  await cluster.changeLeader();
  await expect(send({ by: 'Ada', answer: 'maybe' })).rejects.toThrow('one of yes, no');
  expect(await why()).toBe('waits for signal decision');
  await cluster.signal('job', 'decision', { by: 'Ada', answer: 'yes' });
  await cluster.pass(1_000);
  expect(await cluster.result('job', 'a')).toEqual({ by: 'Ada', answer: 'yes' });
});
