/** No time that passes brings the job further: it waits for a signal, for a node, or for its handler. */
import { isFinished } from '../scheduler/core/index.ts';
import type { JobId, TaskId } from '../scheduler/core/index.ts';
import type { LedStore } from './test-leader.ts';
export class StandstillError extends Error {
  override readonly name = 'StandstillError';
  readonly code = 'standstill';
  readonly jobId: string;
  /** For each task that keeps it, why. Those of a job that it has called stand here as JOB/TASK. */
  readonly waiting: Readonly<Record<string, string>>;

  constructor(jobId: string, name: string, waiting: Readonly<Record<string, string>>) {
    const reasons = Object.entries(waiting).map(([task, why]) => `task ${task} ${why}`);
    super(`Job ${jobId} (${name}) cannot make progress by advancing time: ${reasons.join('; ')}.`);
    this.jobId = jobId;
    this.waiting = waiting;
  }
}

/** A job with more tasks than a person reads about is explained in part. */
const EXPLAINED_MAX = 20;

export async function standstillOf(
  led: LedStore,
  id: JobId,
  realTimeoutMs: number,
): Promise<StandstillError> {
  const found = await led.job(id);
  const waiting: Record<string, string> = {};
  // The jobs that it has called carry its id in front of theirs.
  const all = await led.store.jobs(0, { limit: 1_000 });
  const called = all.filter((each) => each.id.startsWith(`${id}.`) && !isFinished(each.state));
  for (const each of [id, ...called.map((row) => row.id)]) {
    for (const { id: task } of ((await led.job(each))?.tasks ?? []).slice(0, EXPLAINED_MAX)) {
      const why = await reasonFor(led, each, task, realTimeoutMs);
      if (why !== null) waiting[each === id ? task : `${each}/${task}`] = why;
    }
  }
  return new StandstillError(id, found?.name ?? id, waiting);
}

async function reasonFor(
  led: LedStore,
  job: JobId,
  task: TaskId,
  realTimeoutMs: number,
): Promise<string | null> {
  const explained = await led.leader.jobs.explain(job, task);
  if (explained === null) return null;
  switch (explained.code) {
    case 'ended':
    // These wait for others, which say more.
    case 'dependencies':
    case 'children':
    case 'child_job':
    case 'batch':
      return null;
    case 'running':
    case 'being_stopped':
      return (
        `is still running after ${realTimeoutMs} ms of real time (realTimeoutMs); ` +
        'let it finish, or give it a run timeout'
      );
    case 'execution_key':
    case 'run_at':
    case 'back_off':
    case 'sleep':
    case 'signal':
    case 'no_node_fits':
    case 'no_node_free':
    case 'nodes_unavailable':
    case 'job_limit':
    case 'concurrency_key':
    case 'rate_limit':
    case 'limit_per_node':
    case 'paused':
    case 'alone':
    case 'admission':
      return explained.why;
  }
}
