/**
 * Where a task that went wrong before runs next. One that failed is tried on another node, if one has room. One
 * that was held by several sessions that were lost runs alone: then the next loss is its own doing, and until
 * then no task that merely shared a node with it can be called dead.
 */
import { UNRESTRICTED } from '../queue/requirement.ts';
import type { PlacementRestriction } from '../queue/requirement.ts';
import type { SchedulerState } from '../state.ts';
import type { Slot } from '../task/table.ts';

/** Lost sessions after which a task runs alone. Once is bad luck. */
const EXPOSURES_MAX = 2;
/** More restrictions at a time would cost each new task a look at many groups. */
const RESTRICTIONS_MAX = 64;

const ALONE: PlacementRestriction = { avoids: null, isAlone: true };

/** Call it when the task is about to be queued, or is being restored. */
export function restrictPlacement(state: SchedulerState, slot: Slot): void {
  const { tasks, matching } = state;
  const { executor, placement, restriction } = tasks.requirement(slot);
  const wanted = restrictionFor(state, slot);
  if (wanted.isAlone === restriction.isAlone && wanted.avoids === restriction.avoids) return;
  const before = tasks.requirement(slot);
  tasks.setRequirement(slot, matching.require(executor, placement, wanted));
  matching.release(before);
}

/** How many losses in company count against the task: the one that would end it has to be its own. */
export function lossesInCompany(maxLosses: number): number {
  return Math.min(EXPOSURES_MAX, maxLosses);
}

function restrictionFor(state: SchedulerState, slot: Slot): PlacementRestriction {
  const { tasks } = state;
  if (runsAlone(state, slot)) return ALONE;
  const last = tasks.failedOn(slot).at(-1);
  if (last === undefined) return UNRESTRICTED;
  const { kin, restriction } = tasks.requirement(slot);
  if (restriction.avoids === last) return restriction;
  if (kin.size > RESTRICTIONS_MAX) return UNRESTRICTED;
  for (const each of kin) {
    if (each.restriction === UNRESTRICTED && state.matching.hasRoomFor(each, last)) {
      return { avoids: last, isAlone: false };
    }
  }
  return UNRESTRICTED;
}

function runsAlone({ tasks }: SchedulerState, slot: Slot): boolean {
  const exposures = tasks.exposures(slot);
  if (exposures === 0) return false;
  return exposures >= lossesInCompany(tasks.options(slot).retry.maxLosses);
}

/** It has come further than ever before, or starts over: earlier failures are forgotten. */
export function forgetFailures({ tasks }: SchedulerState, slot: Slot): void {
  tasks.setExposures(slot, 0);
  tasks.setFailedOn(slot, []);
}
