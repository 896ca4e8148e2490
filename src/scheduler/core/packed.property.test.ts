/** Packed jobs are as if they had never been packed. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Harness, echo } from '../../../test/rig/harness.ts';
import { Workload, operations } from '../../../test/rig/harness/workload.ts';
import { figures } from './figures.ts';
import { QueueCounter } from './queues.ts';
import type { Batch, EventRow, JobId } from './index.ts';

/** Mostly short jobs that wait, and now and then something happens to one of them. */
const happenings = fc.array(
  fc.record({
    kind: fc.constantFrom(
      ...(['submit', 'submit', 'submit', 'twin', 'wide', 'poll', 'poll', 'complete'] as const),
      ...(['cancel', 'priority', 'put off', 'restart', 'advance', 'fail', 'signal'] as const),
    ),
    at: fc.nat(1_000),
  }),
  { minLength: 30, maxLength: 150, size: 'max' },
);

type Happening = Parameters<Parameters<typeof happenings.map>[0]>[0][number];

/** Everything that was written, and the answers. */
function story(each: readonly Happening[], unpackedJobs: number): readonly unknown[] {
  const world = new Harness({ unpackedJobs });
  const written: Batch[] = [];
  const answers: unknown[] = [];
  world.onCommit = (batch) => written.push(batch);
  const node = world.node('w1', { slots: 3 });
  const ids: JobId[] = [];
  for (const { kind, at } of each) {
    const id = ids[at % Math.max(1, ids.length)] ?? ('none' as JobId);
    switch (kind) {
      case 'submit':
        ids.push(idOf(at, ids.length));
        answers.push(world.submit(jobOf(at), { id: ids.at(-1)! }));
        break;
      case 'twin':
        if (world.state.jobsById.has(id)) answers.push(world.submit(jobOf(at), { id }));
        break;
      case 'wide':
        ids.push(idOf(at, ids.length));
        world.submit(
          { name: 'wide', tasks: ['a', 'b', 'c'].map((no) => echo(no)) },
          { id: ids.at(-1)! },
        );
        break;
      case 'poll':
        node.poll(1 + (at % 3));
        break;
      case 'complete':
      case 'fail':
        for (const task of [...node.held.values()].slice(0, 1)) node[kind](task);
        break;
      case 'cancel':
        answers.push(world.cancel(id));
        break;
      case 'priority':
        answers.push(world.ask({ type: 'setPriority', jobId: id, priority: (at % 4) as 0 }));
        break;
      case 'put off':
        answers.push(world.ask({ type: 'reschedule', jobId: id, runAt: world.later(at) }));
        break;
      case 'signal':
        if (world.state.jobsById.has(id)) answers.push(world.signal(id, 'go', at, `s-${at}`));
        break;
      case 'restart':
        world.restart();
        break;
      case 'advance':
        world.advance(at);
    }
    answers.push(figures(world.state, world.now), countsIn(world));
  }
  return [answers, written];
}

function countsIn(world: Harness): readonly unknown[] {
  const counter = new QueueCounter(world.state);
  while (counter.count(1_000));
  return counter.result();
}

const idOf = (at: number, no: number): JobId =>
  (at % 3 === 0 ? `job-${no}` : `0193a2f5-c6a1-7c3e-9b7a-${`${no}`.padStart(12, '0')}`) as JobId;

function jobOf(at: number): Readonly<Record<string, unknown>> {
  const [retry, priority] = [{ retry: { maxAttempts: 1 + (at % 2) } }, at % 3];
  const labels = at % 5 === 0 ? { labels: { tenant: `t${at % 2}` } } : {};
  const keep = at % 7 === 0 ? { keep: 'failed' } : {};
  return {
    name: `n${at % 2}`,
    priority,
    ...labels,
    ...keep,
    tasks: [echo('a', at % 4 === 0 ? retry : {})],
  };
}

test('jobs are written, served and answered as if none had been packed', () => {
  fc.assert(
    fc.property(happenings, fc.nat(3), (each, unpackedJobs) => {
      expect(story(each, unpackedJobs)).toEqual(story(each, Infinity));
    }),
    { numRuns: 60 },
  );
});

test('so they are in a workload of everything', () => {
  const logOf = (
    each: Parameters<typeof Workload.run>[0],
    unpackedJobs: number,
  ): readonly EventRow[] =>
    Workload.run(
      each,
      () => {},
      () => {},
      unpackedJobs,
    ).log();
  fc.assert(
    fc.property(operations, (each) => {
      expect(logOf(each, 0)).toEqual(logOf(each, Infinity));
    }),
    { numRuns: 10 },
  );
});

test('a long queue is packed, and a short one is not', () => {
  const world = new Harness({ unpackedJobs: 10, checks: false });
  for (let at = 0; at < 100; at += 1) world.submit({ name: `job-${at}`, tasks: [echo('a')] });
  expect(world.state.jobs.packed.size).toBe(90);
  expect(world.state.jobs.size).toBe(100);
  const node = world.node('w1', { slots: 100 });
  const order = node.poll(100).map(({ jobId }) => jobId);
  expect(order).toEqual(Array.from({ length: 100 }, (_, at) => `job-${at}`));
  expect(world.state.jobs.packed.size).toBe(0);
});

test('jobs are packed and served again after all that waited were cancelled', () => {
  const world = new Harness({ unpackedJobs: 100, checks: false });
  const submit = (name: string, count: number): void => {
    for (let at = 0; at < count; at += 1)
      world.submit({ name: `${name}-${at}`, tasks: [echo('a')] }, { id: `${name}-${at}` as JobId });
  };
  submit('first', 200);
  expect(world.state.jobs.packed.size).toBe(100);
  // The newest first: no packed job is left when the empty queues of the others are swept.
  for (let at = 199; at >= 100; at -= 1) world.cancel(`first-${at}` as JobId);
  for (let at = 0; at < 100; at += 1) world.cancel(`first-${at}` as JobId);
  submit('second', 200);
  expect(world.state.jobs.packed.size).toBe(100);
  expect(world.node('w1', { slots: 200 }).poll(200)).toHaveLength(200);
});
