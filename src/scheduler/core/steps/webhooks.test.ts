import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import type { TaskId } from '../ids.ts';
import { decodeWebhookInput, isWebhookJob } from '../job/webhook.ts';
import type { JobRow } from '../rows.ts';

const URL = 'https://example.org/hook?team=a';
const OTHER = 'https://example.com/';

function deliveries(world: Harness): readonly JobRow[] {
  return world
    .jobIds()
    .map((id) => world.job(id))
    .filter(({ name }) => name === 'webhook');
}

const inputOf = (world: Harness, { id }: JobRow) =>
  decodeWebhookInput(world.rows.task(id, 'deliver' as TaskId)?.spec.input ?? 'null');

describe('the end of a job with webhooks', () => {
  test('creates one delivery for each of them, in the commit of the end', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({
      name: 'job',
      priority: 1,
      fairnessKey: 'tenant',
      labels: { team: 'a' },
      webhooks: [{ url: URL }, { url: OTHER }],
      tasks: [echo('a')],
    });
    expect(deliveries(world)).toEqual([]);
    node.complete(node.poll(1)[0]!);
    // Nothing else has happened: a leader that dies now leaves both.
    world.restart();
    const made = deliveries(world);
    expect(made.map(({ state, priority }) => [state, priority])).toEqual([
      ['queued', 1],
      ['queued', 1],
    ]);
    expect(made.map((job) => inputOf(world, job).url).toSorted()).toEqual([OTHER, URL].toSorted());
    const [first] = made;
    expect(first?.labels).toEqual(['event:job.succeeded', 'job:job']);
    expect(JSON.parse(first?.options ?? '')).toEqual({ fairnessKey: 'tenant', keep: 'failed' });
    expect(inputOf(world, first!)).toMatchObject({
      type: 'job.succeeded',
      timestamp: new Date(world.job('job').finishedAt ?? 0).toISOString(),
      job: {
        id: 'job',
        name: 'job',
        state: 'succeeded',
        run: 1,
        labels: { team: 'a' },
        error: null,
      },
    });
    expect(world.task(first!.id, 'deliver')).toMatchObject({ state: 'ready' });
    world.check();
  });

  test('goes only to those who asked for such an end', () => {
    const world = new Harness();
    const node = world.node('w1');
    const webhooks = [
      { url: `${OTHER}failed`, on: ['failed'] },
      { url: `${OTHER}cancelled`, on: ['cancelled'] },
      { url: `${OTHER}both`, on: ['cancelled', 'failed'] },
    ];
    world.submit({ name: 'good', webhooks, tasks: [echo('a')] });
    node.complete(node.poll(1)[0]!);
    expect(deliveries(world)).toEqual([]);
    world.submit({ name: 'stopped', webhooks, tasks: [echo('a')] });
    world.cancel('stopped', 'no longer wanted');
    const urls = deliveries(world).map((job) => inputOf(world, job).url);
    expect(urls.toSorted()).toEqual([`${OTHER}both`, `${OTHER}cancelled`]);
    const [sent] = deliveries(world);
    expect(inputOf(world, sent!).job.error).toEqual({
      code: 'cancelled',
      message: 'no longer wanted',
    });
  });

  test('is sent again when the job has run again', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', webhooks: [{ url: URL }], tasks: [echo('a')] });
    world.cancel('job');
    world.rerun('job');
    node.complete(node.poll(1)[0]!);
    const runs = deliveries(world).map((job) => inputOf(world, job).job);
    expect(runs.map(({ run, state }) => `${run} ${state}`).toSorted()).toEqual([
      '1 cancelled',
      '2 succeeded',
    ]);
  });

  test('is not sent for deliveries themselves', () => {
    const world = new Harness();
    const node = world.node('w1', { executors: ['echo', 'http'] });
    world.submit({ name: 'job', webhooks: [{ url: URL }], tasks: [echo('a')] });
    node.complete(node.poll(1)[0]!);
    node.complete(node.poll(1)[0]!);
    expect(deliveries(world)).toMatchObject([{ state: 'succeeded' }]);
  });

  test('keeps a message of any length within bounds, and whole characters', () => {
    const world = new Harness();
    world.submit({ name: 'job', webhooks: [{ url: URL }], tasks: [echo('a')] });
    world.cancel('job', `${'x'.repeat(1_999)}\u{1f600}${'y'.repeat(9_000)}`);
    const { error } = inputOf(world, deliveries(world)[0]!).job;
    expect(error?.message).toBe(`${'x'.repeat(1_999)}...`);
  });
});

test('only jobs that the scheduler has made for it are deliveries', () => {
  const world = new Harness();
  world.submit({ name: 'job', webhooks: [{ url: URL }], tasks: [echo('a')] });
  world.cancel('job');
  const [{ id: jobId } = { id: '' as JobRow['id'] }] = deliveries(world);
  expect(isWebhookJob({ jobId, scheduledAt: null })).toBe(true);
  // A schedule may be called the same.
  expect(isWebhookJob({ jobId, scheduledAt: world.now })).toBe(false);
  expect(isWebhookJob({ jobId: 'webhook' as JobRow['id'], scheduledAt: null })).toBe(false);
  expect(isWebhookJob({ jobId: `x${jobId}` as JobRow['id'], scheduledAt: null })).toBe(false);
});

test('the webhooks of the cluster are notified of every job, but not of deliveries', () => {
  const world = new Harness();
  const node = world.node('w1');
  const webhooks = [{ url: URL, on: ['failed'] as const }];
  Object.assign(world.state, { ends: { flowsOn: () => [], webhooks } });
  world.submit({ name: 'good', tasks: [echo('a')] }, { id: 'good' });
  world.submit(
    { name: 'bad', tasks: [{ ...echo('a'), retry: { maxAttempts: 1 } }] },
    { id: 'bad' },
  );
  const [good, bad] = node.poll(2);
  node.complete(good!);
  node.fail(bad!);
  const [first, ...others] = deliveries(world);
  expect(others).toEqual([]);
  expect(inputOf(world, first!)).toMatchObject({ url: URL, job: { id: 'bad', state: 'failed' } });
  world.cancel(first!.id);
  expect(deliveries(world)).toHaveLength(1);
});
