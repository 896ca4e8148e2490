/** Operators pause and resume queues: see `queue/pause.ts`. */
import { MillraceError } from '../errors.ts';
import type { PauseQueue, ResumeQueue } from '../event.ts';
import { PAUSES_MAX, pauseFromRow, pauseId, pauseRow } from '../queue/pause.ts';
import type { Pause } from '../queue/pause.ts';
import type { LimitRow } from '../rows.ts';
import type { SchedulerState } from '../state.ts';
import type { StepContext } from '../step-context.ts';
import type { Slot } from '../task/table.ts';

/** A queue that is paused already stays as it is: since then, and for that reason. */
export function pauseQueue(context: StepContext, { ask, target, reason }: PauseQueue): void {
  const { state, effects, now } = context;
  const known = state.pauses.get(pauseId(target));
  if (known !== undefined) {
    return effects.reply(ask, { type: 'pause', pause: known, changed: false });
  }
  if (state.pauses.size >= PAUSES_MAX) return context.refuse(ask, tooMany());
  const pause: Pause = { ...target, since: now, reason };
  state.pauses.set(pauseId(target), pause);
  apply(state, pause, true);
  effects.limit(pauseId(pause), pauseRow(pause));
  context.log('queue.paused', null, detail(pause));
  effects.reply(ask, { type: 'pause', pause, changed: true });
}

/** One that is not paused stays as it is. */
export function resumeQueue(context: StepContext, { ask, target }: ResumeQueue): void {
  const { state, effects } = context;
  const pause = state.pauses.get(pauseId(target));
  if (pause !== undefined) {
    state.pauses.delete(pauseId(pause));
    apply(state, pause, false);
    effects.limit(pauseId(pause), null);
    context.log('queue.resumed', null, detail(pause));
  }
  effects.reply(ask, { type: 'pause', pause: null, changed: pause !== undefined });
}

export function restorePause(state: SchedulerState, row: LimitRow): void {
  const pause = pauseFromRow(row);
  state.pauses.set(row.id, pause);
  apply(state, pause, true);
}

/** What keeps a ready task from being started; null for one that no pause keeps. */
export function pauseOf({ tasks, pauses }: SchedulerState, slot: Slot): Pause | null {
  if (pauses.size === 0) return null;
  const executor = { kind: 'executor', name: tasks.requirement(slot).executor } as const;
  const keys = tasks.limits(slot).map(({ key }) => ({ kind: 'key', name: key }) as const);
  for (const target of [executor, ...keys]) {
    const pause = pauses.get(pauseId(target));
    if (pause !== undefined) return pause;
  }
  return null;
}

function apply({ matching, queue }: SchedulerState, pause: Pause, isPaused: boolean): void {
  if (pause.kind === 'executor') matching.pause(pause.name, isPaused);
  else queue.pauseKey(pause.name, isPaused);
}

function detail({ kind, name, reason }: Pause): Readonly<Record<string, unknown>> {
  return { [kind]: name, ...(reason === null ? {} : { reason }) };
}

function tooMany(): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: `${PAUSES_MAX} queues are paused already.`,
    todo: 'Resume some of them, or give their tasks one key and pause that.',
  });
}
