import { expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import { MillraceError, parseJobDocument, unstorableJob } from '../index.ts';
import type { Batch, JobId, ListedJob, TaskId } from '../index.ts';

type Raw = Readonly<Record<string, unknown>>;

const LIST: readonly Raw[] = [
  { name: 'plain', tasks: [echo('a', { input: 1 })] },
  { name: 'like it', tasks: [echo('a', { input: 2 })] },
  { name: 'one', singleton: { key: 'k' }, tasks: [echo('a')] },
  { name: 'same key', singleton: { key: 'k' }, tasks: [echo('a')] },
  { name: 'replaces', singleton: { key: 'k', whenBusy: 'replace' }, tasks: [echo('a')] },
  { name: 'chain', tasks: [echo('a'), echo('b', { dependsOn: ['a'] })] },
  { name: 'later', debounce: { key: 'd', ms: 1_000 }, tasks: [echo('a')] },
  { name: 'in its place', debounce: { key: 'd', ms: 1_000 }, tasks: [echo('a')] },
];

/** All rows but the counters, list by list. */
function rowsIn(batches: readonly Batch[]): Readonly<Record<string, readonly unknown[]>> {
  const rows: Record<string, unknown[]> = {};
  for (const batch of batches) {
    for (const [name, list] of Object.entries(batch))
      if (Array.isArray(list) && list.length > 0) (rows[name] ??= []).push(...(list as unknown[]));
  }
  return rows;
}

test.each([0, 1, 100])('a list leaves what its jobs leave one by one: %i unpacked', (unpacked) => {
  const [alone, together] = [0, 1].map(() => new Harness({ unpackedJobs: unpacked }));
  const written: Batch[] = [];
  alone!.onCommit = (batch) => written.push(batch);
  const singles = LIST.map((raw) => alone!.submit(raw));
  const lists: Batch[] = [];
  together!.onCommit = (batch) => lists.push(batch);
  const jobs = LIST.map((raw): ListedJob => {
    return {
      jobId: raw['name'] as JobId,
      document: parseJobDocument(raw, together!.settings),
    };
  });
  const reply = together!.ask({ type: 'submitAll', jobs });
  expect(reply).toMatchObject({
    type: 'jobs',
    replies: singles.map(({ jobId, changed }) => ({ jobId, changed })),
  });
  // In one batch a later image of a row takes the place of the one before.
  expect(rowsIn(lists)['events']).toEqual(rowsIn(written)['events']);
  expect([...together!.rows.jobs.values()]).toEqual([...alone!.rows.jobs.values()]);
  const given = [alone!, together!].map((world) => world.node('w', { slots: 50 }).poll(50));
  expect(given[1]?.map(({ jobId, taskId }) => [jobId, taskId])).toEqual(
    given[0]?.map(({ jobId, taskId }) => [jobId, taskId]),
  );
});

test('finds text that no store keeps in each part of a job that is like the one before', () => {
  const { settings } = new Harness();
  const document = parseJobDocument({ name: 'n', tasks: [echo('a', { input: 'x' })] }, settings);
  const before: ListedJob = { jobId: 'b' as JobId, document };
  const [task] = document.tasks;
  const bad = '\0';
  const withTask = (part: object): ListedJob => ({
    ...before,
    document: { ...document, tasks: [{ ...task!, ...part }] },
  });
  const withPart = (part: object): ListedJob => ({
    ...before,
    document: { ...document, ...part },
  });
  expect(unstorableJob(before, before)).toBeNull();
  expect(unstorableJob({ ...before, jobId: bad as JobId }, before)).not.toBeNull();
  const startedBy = { event: bad, id: 'x' } as unknown as NonNullable<ListedJob['startedBy']>;
  expect(unstorableJob({ ...before, startedBy }, before)).not.toBeNull();
  for (const part of [{ name: bad }, { idempotencyKey: bad }, { output: bad }, { labels: [bad] }])
    expect(unstorableJob(withPart(part), before)).not.toBeNull();
  for (const part of [
    { input: bad },
    { id: bad as TaskId },
    { executor: bad },
    { idempotencyKey: bad },
  ])
    expect(unstorableJob(withTask(part), before)).not.toBeNull();
  const two = { ...document, tasks: [task!, { ...task!, input: bad }] };
  expect(unstorableJob({ ...before, document: two }, before)).not.toBeNull();
});

test('a job of a list that is refused refuses no other', () => {
  const world = new Harness();
  const raws = [
    { name: 'x', tasks: [echo('a')] },
    { name: 'late', tasks: [echo('a')] },
  ];
  world.state.isComplete = false;
  const jobs = raws.map((raw, at): ListedJob => {
    const given = at === 0 ? { ...raw, singleton: { key: 's' } } : raw;
    return { jobId: raw.name as JobId, document: parseJobDocument(given, world.settings) };
  });
  const reply = world.ask({ type: 'submitAll', jobs });
  expect(reply).toMatchObject({ type: 'jobs', replies: [{}, { jobId: 'late', changed: true }] });
  expect(reply.type === 'jobs' && reply.replies[0]).toBeInstanceOf(MillraceError);
});
