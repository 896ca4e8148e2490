/**
 * Schedules that come with the definition of a flow: they are there while its current version declares them. All that
 * changes for one flow is one transaction, and nothing is written when nothing changes.
 */
import type { DeclareSchedules, DeclaredSchedule } from '../event.ts';
import { definitionOf, encodeScheduleSpec } from '../schedule/spec.ts';
import type { Schedule } from '../schedule/state.ts';
import type { StepContext } from '../step-context.ts';
import { isFullOfSchedules, placeSchedule, removeSchedule } from './schedules.ts';

export function declareSchedules(context: StepContext, event: DeclareSchedules): void {
  const { state, effects } = context;
  const { ask, flow, schedules, unusable } = event;
  const wanted = new Set([...schedules.map(({ id }) => id), ...unusable]);
  for (const schedule of state.schedules.values()) {
    if (isDeclaredBy(schedule, flow) && !wanted.has(schedule.id)) retire(context, schedule, event);
  }
  if (event.forgets === true) forget(context, flow);
  const notes = schedules.flatMap((each) => {
    const note = declare(context, each, event);
    return note === null ? [] : [{ scheduleId: each.id, note }];
  });
  effects.reply(ask, { type: 'declared', notes });
}

/** A pause is not lost by a deployment that is rolled back. */
function retire(
  context: StepContext,
  schedule: Schedule,
  { flow, forgets }: DeclareSchedules,
): void {
  const isRemembered = schedule.paused && forgets !== true;
  removeSchedule(context, schedule, isRemembered ? { flow, definition: null, paused: true } : null);
}

function forget({ state, effects }: StepContext, flow: string): void {
  for (const [id, declined] of state.declinedSchedules) {
    if (declined.flow !== flow) continue;
    state.declinedSchedules.delete(id);
    effects.schedule(id, null);
  }
}

/** Why it is not there as it is declared; null if it is. */
function declare(
  context: StepContext,
  { id, spec, document }: DeclaredSchedule,
  { flow, paused }: DeclareSchedules,
): string | null {
  const { state } = context;
  const known = state.schedules.get(id);
  if (known !== undefined) {
    if (!isDeclaredBy(known, flow)) return takenBy(known);
    const isSame = encodeScheduleSpec(known.spec) === encodeScheduleSpec(spec);
    if (!isSame) placeSchedule(context, { scheduleId: id, spec, document });
    return null;
  }
  const declined = state.declinedSchedules.get(id);
  const own = declined?.flow === flow ? declined : undefined;
  if (own !== undefined && own.definition === definitionOf(spec)) {
    return 'It was deleted, and comes back with another definition or when it is put by hand.';
  }
  if (declined === undefined && isFullOfSchedules(state)) {
    return `The limit of ${state.settings.schedulesMax} schedules is reached.`;
  }
  placeSchedule(context, { scheduleId: id, spec, document }, paused ?? own?.paused ?? false);
  return null;
}

function isDeclaredBy({ spec }: Schedule, flow: string): boolean {
  return spec.declared === true && spec.flow === flow;
}

function takenBy({ spec }: Schedule): string {
  return spec.declared === true
    ? `The flow ${spec.flow} declares a schedule of this id: give one of them another id.`
    : 'A schedule of this id was put by hand, and stays: delete it, or declare another id.';
}
