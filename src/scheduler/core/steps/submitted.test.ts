import { expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';
import { decodeJobOptions, parseJobDocument } from '../index.ts';
import type { Assignment, JobId, JobState, ReportItem } from '../index.ts';

const SENT = 'sent-1' as JobId;

function running(): { world: Harness; node: ScriptedNode; a: Assignment } {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  return { world, node, a: node.poll(1)[0]! };
}

function submission({ settings }: Harness, a: Assignment, ended: JobState | null = null) {
  const document = parseJobDocument({ name: 'later', tasks: [echo('x')] }, settings);
  const job = { jobId: SENT, document, ended };
  const body = JSON.stringify({ jobId: SENT });
  return { kind: 'step', lease: a.lease, name: '$submit/s', body, job } satisfies ReportItem;
}

test('a submitted job and the step that says so come together, and the task goes on', () => {
  const { world, node, a } = running();
  expect(node.report([submission(world, a)])).toEqual(['ok']);
  expect(world.steps('job', 'a')).toEqual({ '$submit/s': { jobId: SENT } });
  expect(world.task('job', 'a').state).toBe('running');
  const { name, options } = world.job(SENT);
  expect([name, decodeJobOptions(options).startedBy]).toEqual(['later', { job: 'job', task: 'a' }]);
});

test('a repeated report, or one of another attempt, submits nothing again', () => {
  const { world, node, a } = running();
  node.report([submission(world, a)]);
  node.report([submission(world, a)]);
  expect(world.jobIds()).toEqual(['job', SENT]);
  // It has ended since, and left the memory.
  const [x] = node.poll(1);
  node.complete(x!);
  expect(world.job(SENT).state).toBe('succeeded');
  expect(node.report([submission(world, a, 'succeeded')])).toEqual(['ok']);
  expect(world.jobIds()).toEqual(['job', SENT]);
});

test('a lease that is lost submits nothing', () => {
  const { world, node, a } = running();
  node.release(a);
  expect(node.report([submission(world, a)])).toEqual(['lost']);
  expect(world.jobIds()).toEqual(['job']);
});

test('the job goes on when the one that submitted it is cancelled', () => {
  const { world, node, a } = running();
  node.report([submission(world, a)]);
  world.cancel('job');
  node.abort(a);
  expect(world.job('job').state).toBe('cancelled');
  expect(world.job(SENT).state).toBe('queued');
  world.restart();
  expect(node.poll(1)).toMatchObject([{ jobId: SENT, taskId: 'x' }]);
});
