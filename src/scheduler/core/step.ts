/**
 * The scheduler as one function: state and event in, effects out. Deterministic: the same events
 * at the same times always give the same rows and the same replies.
 */
import { assertNever } from './errors.ts';
import type { Effects } from './effects.ts';
import type { SchedulerEvent } from './event.ts';
import type { Instant } from './ids.ts';
import type { SchedulerState } from './state.ts';
import { assign, hangUp, poll } from './steps/assign.ts';
import { decide } from './steps/decide.ts';
import { pauseQueue, resumeQueue } from './steps/pauses.ts';
import { setPriority } from './steps/priority.ts';
import { raise } from './steps/raise.ts';
import { reschedule } from './steps/reschedule.ts';
import { report } from './steps/report.ts';
import { cancel, rerun } from './steps/rerun.ts';
import { declareSchedules } from './steps/declare-schedules.ts';
import { backfillSchedule, changeSchedule, putSchedule } from './steps/schedules.ts';
import { drain, heartbeat, leave, register, releaseNode, sessionGone } from './steps/session.ts';
import { settle } from './steps/settle.ts';
import { signal } from './steps/signal.ts';
import { submitAll } from './steps/submit-all.ts';
import { reject, submit } from './steps/submit.ts';
import { tick } from './steps/tick.ts';
import { answerCall } from './steps/wait.ts';
import { StepContext } from './step-context.ts';

/**
 * Takes `event` at time `now`. The state is changed in place; everything that must be written or
 * answered is added to `effects`. If this throws, the state is not valid any more: drop it.
 */
export function step(
  state: SchedulerState,
  event: SchedulerEvent,
  now: Instant,
  effects: Effects,
): void {
  const context = new StepContext(state, now, effects);
  take(context, event);
  settle(context);
  context.sendJobReplies();
  context.packNewJobs();
}

function take(context: StepContext, event: SchedulerEvent): void {
  switch (event.type) {
    case 'submit':
      return submit(context, event);
    case 'submitAll':
      return submitAll(context, event);
    case 'reject':
      return reject(context, event);
    case 'dropInbox':
      context.effects.deleteInbox(event.inboxNo);
      return context.effects.reply(event.ask, { type: 'done' });
    case 'cancel':
      return cancel(context, event);
    case 'setPriority':
      return setPriority(context, event);
    case 'reschedule':
      return reschedule(context, event);
    case 'noteRemoval':
      // Its number names nothing any more, so its id is in the detail.
      context.log('job.removed', null, { job: event.jobId, name: event.name });
      return context.effects.reply(event.ask, { type: 'done' });
    case 'rerun':
      return rerun(context, event);
    case 'signal':
      return signal(context, event);
    case 'raise':
      return raise(context, event);
    case 'answerCall':
      return answerCall(context, event);
    case 'register':
      return register(context, event);
    case 'heartbeat':
      return heartbeat(context, event);
    case 'poll':
      return poll(context, event);
    case 'hangUp':
      return hangUp(context, event);
    case 'report':
      return report(context, event);
    case 'leave':
      return leave(context, event);
    case 'sessionGone':
      return sessionGone(context, event);
    case 'drain':
      return drain(context, event);
    case 'releaseNode':
      return releaseNode(context, event);
    case 'putSchedule':
      return putSchedule(context, event);
    case 'backfillSchedule':
      return backfillSchedule(context, event);
    case 'declareSchedules':
      return declareSchedules(context, event);
    case 'changeSchedule':
      return changeSchedule(context, event);
    case 'pauseQueue':
      return pauseQueue(context, event);
    case 'resumeQueue':
      return resumeQueue(context, event);
    case 'decide':
      return decide(context, event);
    case 'assign':
      return assign(context);
    case 'tick':
      return tick(context);
    default:
      return assertNever(event);
  }
}
