/** One step in progress: the state, the time, and where the effects go. */
import { type MillraceError, broken } from './errors.ts';
import type { Effects, JobReply } from './effects.ts';
import type { Ask } from './event.ts';
import type { Instant, JobId, NodeId } from './ids.ts';
import { instant } from './ids.ts';
import type { Job } from './job/job.ts';
import { jobRow } from './job/job.ts';
import { encodeWaits } from './job/waits.ts';
import type { LogKind } from './log/kinds.ts';
import type { Node } from './node/node.ts';
import { nodeRow } from './node/node.ts';
import type { TaskRow } from './rows.ts';
import type { SchedulerState } from './state.ts';
import { isFinished, isTerminal } from './task/chart.ts';
import type { Slot } from './task/table.ts';

export class StepContext {
  readonly state: SchedulerState;
  readonly now: Instant;
  readonly effects: Effects;
  /** Tasks that ended in this step and whose dependents have not been updated yet. */
  readonly ended: Slot[] = [];
  /** Jobs whose last task ended: they leave the memory when the step is settled. Null while there is none; one may be
   * named twice. */
  over: Job[] | null = null;
  /** Jobs whose caller has ended in this step. */
  readonly abandoned: JobId[] = [];
  readonly #newJobs: Job[] = [];
  #jobReplies: JobReplyTo[] | null = null;

  constructor(state: SchedulerState, now: Instant, effects: Effects) {
    this.state = state;
    this.now = now;
    this.effects = effects;
  }

  /** A job has come into memory in this step. */
  came(job: Job): void {
    this.#newJobs.push(job);
  }

  /** Nobody has them in hand any more. */
  packNewJobs(): void {
    if (this.#newJobs.length === 0) return;
    for (const job of this.#newJobs) this.state.jobs.packIfFar(job);
    this.#newJobs.length = 0;
  }

  /** Of the cluster, or of a node. */
  log(kind: LogKind, nodeId: NodeId | null, detail?: LogDetail): void {
    this.#append(kind, null, null, nodeId, detail);
  }

  logJob(kind: LogKind, job: Job, detail?: LogDetail): void {
    this.#append(kind, job, null, null, detail);
  }

  /** `fence` is given for a duplicate; otherwise it is the task's own. */
  logTask(
    kind: LogKind,
    slot: Slot,
    nodeId: NodeId | null = null,
    detail?: LogDetail,
    fence: number = this.state.tasks.fence.get(slot),
  ): void {
    this.#append(kind, this.state.tasks.job(slot), slot, nodeId, detail, fence);
  }

  /** The sequence has no gaps because this is the only place it grows. */
  #append(
    kind: LogKind,
    job: Job | null,
    slot: Slot | null,
    nodeId: NodeId | null,
    detail: LogDetail | undefined,
    fence: number | null = null,
  ): void {
    const { state } = this;
    const { tasks } = state;
    state.lastSeq += 1;
    this.effects.event({
      seq: state.lastSeq,
      at: this.now,
      kind,
      jobNo: job === null ? null : job.no,
      jobId: job === null ? null : job.id,
      taskNo: slot === null ? null : tasks.no(slot),
      taskId: slot === null ? null : tasks.id(slot),
      nodeId,
      run: slot === null ? (job === null ? null : job.run) : tasks.run.get(slot),
      attempt: slot === null ? null : tasks.attempt.get(slot),
      fence,
      detail: detail === undefined ? null : JSON.stringify(detail),
    });
  }

  /** Writes the task's whole row as it is now. */
  writeTask(slot: Slot, finishedAt: Instant | null = null, nodeId: NodeId | null = null): void {
    const row = taskRow(this.state, slot, finishedAt, nodeId);
    if (isTerminal(row.state) !== (finishedAt !== null)) {
      broken(`a task that is ${row.state} has ${finishedAt === null ? 'no' : 'an'} end`);
    }
    this.effects.task(row);
  }

  writeJob(job: Job): void {
    if (isFinished(job.state) !== (job.finishedAt !== null)) {
      broken(`a job that is ${job.state} has ${job.finishedAt === null ? 'no' : 'an'} end`);
    }
    this.effects.job(jobRow(job));
  }

  writeNode(node: Node): void {
    this.effects.node(node.id, nodeRow(node));
  }

  refuse(ask: Ask, error: MillraceError): void {
    this.effects.reply(ask, { type: 'refused', error });
  }

  /** Answers with the job as it is when the step is settled. */
  replyJob(ask: Ask, job: Job, changed: boolean, more?: MoreOfJob): void {
    const reply = { ask, job, changed, more };
    // Most steps have one: a list that grows by pushing begins with room for many.
    if (this.#jobReplies === null) this.#jobReplies = [reply];
    else this.#jobReplies.push(reply);
  }

  sendJobReplies(): void {
    if (this.#jobReplies === null) return;
    for (const { ask, job, changed, more } of this.#jobReplies) {
      const { id: jobId, state, run } = job;
      const reply = { type: 'job' as const, jobId, state, run, changed };
      this.effects.reply(ask, more === undefined ? reply : { ...reply, ...more });
    }
  }
}

interface JobReplyTo {
  readonly ask: Ask;
  readonly job: Job;
  readonly changed: boolean;
  readonly more: MoreOfJob | undefined;
}

type MoreOfJob = Pick<JobReply, 'signal' | 'why'>;

type LogDetail = Readonly<Record<string, unknown>>;

function taskRow(
  state: SchedulerState,
  slot: Slot,
  finishedAt: Instant | null,
  nodeId: NodeId | null,
): TaskRow {
  const { tasks } = state;
  const lease = state.leases.get(slot);
  const delayed = tasks.state(slot) === 'delayed';
  return {
    jobNo: tasks.job(slot).no,
    taskNo: tasks.no(slot),
    state: tasks.state(slot),
    run: tasks.run.get(slot),
    attempt: tasks.attempt.get(slot),
    failures: tasks.failures.get(slot),
    losses: tasks.losses.get(slot),
    fence: tasks.fence.get(slot),
    term: tasks.term(slot),
    nodeId: lease?.node.id ?? nodeId,
    sessionId: lease?.sessionId ?? null,
    stopping: lease?.stopping ?? null,
    suspended: tasks.suspended(slot),
    waits: encodeWaits(tasks.waits(slot)),
    notBefore: delayed ? instant(tasks.notBefore.get(slot)) : null,
    progress: tasks.progress.get(slot),
    error: tasks.error(slot),
    queuedAt: orNull(tasks.queuedAt.get(slot)),
    startedAt: orNull(tasks.startedAt.get(slot)),
    finishedAt,
  };
}

function orNull(at: number): Instant | null {
  return at === 0 ? null : instant(at);
}
