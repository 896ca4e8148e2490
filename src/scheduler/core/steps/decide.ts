/** Tasks that no node runs: the leader decides what they answer, from the results that they depend on. */
import type { Decide } from '../event.ts';
import type { StepContext } from '../step-context.ts';
import { finish } from './lifecycle.ts';

/**
 * A decision is a result like any other, so it is durable, and it stays while what follows from it is recomputed. Tasks
 * that have nothing to do because of it end with it. One that has run before is left alone: it finds out by itself.
 */
export function decide(context: StepContext, { jobNo, taskNo, run, decision }: Decide): void {
  const { jobs, tasks, undecided } = context.state;
  const job = jobs.get(jobNo);
  const slot = job?.slot(taskNo) ?? null;
  if (job === undefined || slot === null) return;
  if (!undecided.has(slot) || tasks.run.get(slot) !== run) return;
  if ('error' in decision) return finish(context, slot, 'failed', { error: decision.error });
  const { result, detail, done } = decision;
  finish(context, slot, 'succeeded', { result, detail });
  for (const { taskId, result: answer } of done) {
    const no = job.taskNo(taskId, tasks);
    const idle = no === null ? null : job.slot(no);
    if (idle === null || tasks.state(idle) !== 'blocked' || tasks.fence.get(idle) > 0) continue;
    finish(context, idle, 'succeeded', { result: answer, detail: { because: tasks.id(slot) } });
  }
}
