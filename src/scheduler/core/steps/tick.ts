/** Time passes: each timer that is due does what it was armed for, if that still makes sense. */
import { assertNever } from '../errors.ts';
import type { Job } from '../job/job.ts';
import type { Node } from '../node/node.ts';
import type { Limit } from '../queue/limit.ts';
import type { TaskError } from '../rows.ts';
import type { Schedule } from '../schedule/state.ts';
import type { SchedulerState } from '../state.ts';
import { isTerminal } from '../task/chart.ts';
import type { Lease } from '../task/lease.ts';
import type { Slot } from '../task/table.ts';
import type { Timer } from '../timers.ts';
import type { StepContext } from '../step-context.ts';
import { finish } from './lifecycle.ts';
import { remake } from './outputs.ts';
import { endQuarantine } from './quarantine.ts';
import { limitDue } from './rates.ts';
import { scheduleDue } from './schedules.ts';
import { nodeDeadDue, nodeForgetDue, sessionDue } from './session.ts';
import { settle } from './settle.ts';
import { stragglersDue, timedStage } from './stragglers.ts';
import { orderAbort, stopJob } from './stop.ts';
import { isPutOff } from './submit.ts';
import { wake } from './wait.ts';

export function tick(context: StepContext): void {
  const { timers } = context.state;
  if (timers.isCrowded) timers.sweep((timer) => fits(context.state, timer));
  for (let timer = timers.due(context.now); timer !== null; timer = timers.due(context.now)) {
    ring(context, timer);
    // Before the next timer looks: a job that has ended must be gone for it.
    settle(context);
  }
}

/** Whether what the timer was armed for is still to be expected. */
function fits(state: SchedulerState, timer: Timer): boolean {
  switch (timer.type) {
    case 'wake':
    case 'queueTimeout': {
      const slot = taskOf(state, timer);
      return slot !== null && state.tasks.stamp.get(slot) === timer.stamp;
    }
    case 'runTimeout':
      return leaseOf(state, timer)?.fence === timer.fence;
    case 'taskTimeout': {
      const slot = taskOf(state, timer);
      if (slot === null || isTerminal(state.tasks.state(slot))) return false;
      if (isPutOff(state, state.tasks.job(slot), slot, timer.at)) return false;
      return state.tasks.run.get(slot) === timer.run;
    }
    case 'jobTimeout': {
      const job = state.jobs.get(timer.jobNo);
      return job?.run === timer.run && !isPutOff(state, job, null, timer.at);
    }
    case 'outputs':
      return state.jobs.has(timer.jobNo);
    case 'stragglers':
      return timedStage(state.jobs.get(timer.jobNo), timer.stage, timer.at) !== null;
    case 'admission':
      return state.admissions.isWaited;
    case 'limit':
      return state.queue.limit(timer.limitId)?.timerAt === timer.at;
    case 'session':
      return nodeOf(state, timer)?.status === 'healthy';
    case 'nodeDead':
      return nodeOf(state, timer)?.status === 'stale';
    case 'nodeForget':
      return nodeOf(state, timer)?.status === 'dead';
    case 'quarantine':
      return state.nodes.get(timer.nodeId)?.quarantinedUntil === timer.at;
    case 'schedule': {
      const schedule = state.schedules.get(timer.scheduleId);
      if (!state.isComplete || schedule === undefined || schedule.paused) return false;
      return schedule.timerNo === timer.timerNo && schedule.nextAt === timer.at;
    }
    default:
      return assertNever(timer);
  }
}

function ring(context: StepContext, timer: Timer): void {
  const { state } = context;
  if (!fits(state, timer)) return;
  switch (timer.type) {
    case 'wake':
      return wake(context, taskOf(state, timer) as Slot);
    case 'queueTimeout':
      return endQueued(context, taskOf(state, timer) as Slot);
    case 'runTimeout':
      return orderAbort(context, leaseOf(state, timer) as Lease, 'timeout');
    case 'taskTimeout':
      return endOverdue(context, taskOf(state, timer) as Slot);
    case 'jobTimeout': {
      const job = state.jobs.get(timer.jobNo) as Job;
      return job.stopping === null ? stopJob(context, job, 'timeout', JOB_TIMEOUT) : undefined;
    }
    case 'outputs':
      return void remake(context, state.jobs.get(timer.jobNo) as Job);
    case 'stragglers': {
      const stage = timedStage(state.jobs.get(timer.jobNo), timer.stage, timer.at);
      return stage === null ? undefined : stragglersDue(context, stage);
    }
    case 'admission':
      // Whoever waits is looked at when the step is settled.
      return;
    case 'limit':
      return limitDue(context, state.queue.limit(timer.limitId) as Limit);
    case 'session':
      return sessionDue(context, nodeOf(state, timer) as Node);
    case 'nodeDead':
      return nodeDeadDue(context, nodeOf(state, timer) as Node);
    case 'nodeForget':
      return nodeForgetDue(context, nodeOf(state, timer) as Node);
    case 'quarantine':
      return endQuarantine(context, state.nodes.get(timer.nodeId) as Node, true);
    case 'schedule':
      return scheduleDue(context, state.schedules.get(timer.scheduleId) as Schedule);
    default:
      return assertNever(timer);
  }
}

type TaskTimer = Extract<Timer, { taskNo: unknown }>;
type SessionTimer = Extract<Timer, { sessionId: unknown }>;

function taskOf(state: SchedulerState, timer: TaskTimer): Slot | null {
  return state.jobs.get(timer.jobNo)?.slot(timer.taskNo) ?? null;
}

function leaseOf(state: SchedulerState, timer: TaskTimer): Lease | undefined {
  const slot = taskOf(state, timer);
  return slot === null ? undefined : state.leases.get(slot);
}

/** The node, if it is still the same session. */
function nodeOf(state: SchedulerState, timer: SessionTimer): Node | undefined {
  const node = state.nodes.get(timer.nodeId);
  return node?.sessionId === timer.sessionId ? node : undefined;
}

/** Running ones are ordered to stop and end when they have: see failAttempt. */
function endOverdue(context: StepContext, slot: Slot): void {
  const lease = context.state.leases.get(slot);
  if (lease !== undefined) return orderAbort(context, lease, 'timeout');
  finish(context, slot, 'failed', { error: TOTAL_TIMEOUT });
}

function endQueued(context: StepContext, slot: Slot): void {
  const isLetIn = context.state.tasks.options(slot).admission === undefined;
  finish(context, slot, 'failed', { error: isLetIn ? QUEUE_TIMEOUT : ADMISSION_TIMEOUT });
}

const ADMISSION_TIMEOUT: TaskError = {
  code: 'queue_timeout',
  message: 'the job waited longer than timeouts.queueMs for admission',
};
const QUEUE_TIMEOUT: TaskError = {
  code: 'queue_timeout',
  message: 'the task waited longer than timeouts.queueMs for a node',
};
const TOTAL_TIMEOUT: TaskError = {
  code: 'timeout',
  message: 'the task did not end within timeouts.totalMs',
};
const JOB_TIMEOUT: TaskError = {
  code: 'timeout',
  message: 'the job did not end within timeouts.totalMs',
};
