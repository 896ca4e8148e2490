/** From inputs to effects: where the dispatcher meets the core. */
import { auditState, forgetIfOver, restoreJob, step } from '../core/index.ts';
import type { Instant, MillraceError, SchedulerEvent, SchedulerState } from '../core/index.ts';
import type { PendingReplies } from './pending-replies.ts';
import type { CommitBatch, Input } from './commit-batch.ts';
import { asFault, reloading } from './faults.ts';

interface Target {
  readonly state: SchedulerState;
  /** Inputs that were made for an earlier memory are not fed to this one. */
  readonly generation: number;
}

/** Returns the fault; the state is then half-changed and must be dropped. */
export function feed(
  input: Input,
  target: Target,
  now: Instant,
  batch: CommitBatch,
  replies: PendingReplies,
): MillraceError | null {
  const { state, generation } = target;
  try {
    switch (input.kind) {
      case 'read':
        batch.whenCommitted(input.look(state, now));
        return null;
      case 'restore': {
        const isCurrent = input.generation === generation;
        for (const image of isCurrent ? input.images : []) {
          restoreJob(state, image, now, batch.effects);
        }
        batch.whenCommitted(() => input.done(isCurrent));
        return null;
      }
      case 'event':
        if ((input.generation ?? generation) === generation) feedEvent(input, state, now, batch);
        else if (input.ask !== null) replies.refuse(input.ask, reloading());
        return null;
    }
  } catch (error) {
    return asFault(error);
  }
}

function feedEvent(
  { event, images }: Extract<Input, { kind: 'event' }>,
  state: SchedulerState,
  now: Instant,
  { effects }: CommitBatch,
): void {
  for (const image of images) restoreJob(state, image, now, effects);
  step(state, event, now, effects);
  for (const { job } of images) forgetIfOver(state, job.no);
}

/** A decision may end tasks that another one waits for. Each event takes a task from those that are undecided. */
function decideAll(
  state: SchedulerState,
  now: Instant,
  effects: CommitBatch['effects'],
  decide: () => readonly SchedulerEvent[],
): void {
  while (state.undecided.size > 0) {
    const events = decide();
    if (events.length === 0) return;
    for (const event of events) step(state, event, now, effects);
  }
}

/** After the inputs: what has become due, what the leader itself can decide, then work for waiting polls. */
export function finish(
  state: SchedulerState,
  now: Instant,
  { effects }: CommitBatch,
  mayTick: boolean,
  decide: () => readonly SchedulerEvent[],
): MillraceError | null {
  try {
    if (mayTick) step(state, { type: 'tick' }, now, effects);
    decideAll(state, now, effects, decide);
    step(state, { type: 'assign' }, now, effects);
    effects.check(state);
    if (state.isAudited) auditState(state);
    return null;
  } catch (error) {
    return asFault(error);
  }
}
