/** Limits per period: what was started is written down with the start, so that the next leader counts it too. */
import { Limit } from '../queue/limit.ts';
import type { LimitRow } from '../rows.ts';
import type { StepContext } from '../step-context.ts';
import type { Slot } from '../task/table.ts';

/** A task was started: its rates remember it until it is out of their period. */
export function keepStarts(context: StepContext, slot: Slot): void {
  for (const limit of context.state.tasks.limits(slot)) {
    if (limit.perMs === null) continue;
    context.effects.limit(limit.id, limit.row());
    armLimit(context, limit);
  }
}

function armLimit({ state, now }: StepContext, limit: Limit): void {
  const { freeAt } = limit;
  if (freeAt === null || (limit.timerAt !== null && limit.timerAt <= freeAt)) return;
  limit.timerAt = freeAt < now ? now : freeAt;
  state.timers.arm({ type: 'limit', at: limit.timerAt, limitId: limit.id });
}

/** The oldest start has left the period: there is room, or nothing left to remember. */
export function limitDue(context: StepContext, limit: Limit): void {
  limit.timerAt = null;
  const isOver = context.state.queue.limitDue(limit, context.now);
  context.effects.limit(limit.id, limit.row());
  if (!isOver) armLimit(context, limit);
}

export function restoreLimit(context: StepContext, row: LimitRow): void {
  const limit = Limit.fromRow(row);
  context.state.queue.restoreLimit(limit);
  armLimit(context, limit);
}
