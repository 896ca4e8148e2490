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
import { report } from './steps/report.ts';
import { cancel, rerun } from './steps/rerun.ts';
import { changeSchedule, putSchedule } from './steps/schedules.ts';
import { drain, heartbeat, leave, register, releaseNode, sessionGone } from './steps/session.ts';
import { settle } from './steps/settle.ts';
import { signal } from './steps/signal.ts';
import { reject, submit } from './steps/submit.ts';
import { tick } from './steps/tick.ts';
import { answerCall } from './steps/wait.ts';
import { Turn } from './turn.ts';

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
  const turn = new Turn(state, now, effects);
  take(turn, event);
  settle(turn);
  turn.sendJobReplies();
}

function take(turn: Turn, event: SchedulerEvent): void {
  switch (event.type) {
    case 'submit':
      return submit(turn, event);
    case 'reject':
      return reject(turn, event);
    case 'dropInbox':
      turn.effects.deleteInbox(event.inboxNo);
      return turn.effects.reply(event.ask, { type: 'done' });
    case 'cancel':
      return cancel(turn, event);
    case 'rerun':
      return rerun(turn, event);
    case 'signal':
      return signal(turn, event);
    case 'answerCall':
      return answerCall(turn, event);
    case 'register':
      return register(turn, event);
    case 'heartbeat':
      return heartbeat(turn, event);
    case 'poll':
      return poll(turn, event);
    case 'hangUp':
      return hangUp(turn, event);
    case 'report':
      return report(turn, event);
    case 'leave':
      return leave(turn, event);
    case 'sessionGone':
      return sessionGone(turn, event);
    case 'drain':
      return drain(turn, event);
    case 'releaseNode':
      return releaseNode(turn, event);
    case 'putSchedule':
      return putSchedule(turn, event);
    case 'changeSchedule':
      return changeSchedule(turn, event);
    case 'assign':
      return assign(turn);
    case 'tick':
      return tick(turn);
    default:
      return assertNever(event);
  }
}
