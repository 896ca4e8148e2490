/**
 * Where a task that went wrong before runs next. One that failed is tried on another node, if one has room. One
 * that was held by several sessions that were lost runs alone: then the next loss is its own doing, and until
 * then no task that merely shared a node with it can be called dead.
 */
import { NO_CAUTION } from '../queue/requirement.ts';
import type { Caution } from '../queue/requirement.ts';
import type { SchedulerState } from '../state.ts';
import type { Slot } from '../task/table.ts';

/** Lost sessions after which a task runs alone. Once is bad luck. */
const EXPOSURES_MAX = 2;
/** More than so many different cautions at a time would cost each new task a look at many groups. */
const CAUTIONS_MAX = 64;

const ALONE: Caution = { avoids: null, isAlone: true };

/** Call it when the task is about to stand in line, or is being restored. */
export function takeCaution(state: SchedulerState, slot: Slot): void {
  const { tasks, matching } = state;
  const { executor, placement, caution } = tasks.requirement(slot);
  const wanted = cautionFor(state, slot);
  if (wanted.isAlone === caution.isAlone && wanted.avoids === caution.avoids) return;
  const before = tasks.requirement(slot);
  tasks.setRequirement(slot, matching.require(executor, placement, wanted));
  matching.release(before);
}

/** How many losses in company count against the task: the one that would end it has to be its own. */
export function lossesInCompany(maxLosses: number): number {
  return Math.min(EXPOSURES_MAX, maxLosses);
}

function cautionFor(state: SchedulerState, slot: Slot): Caution {
  const { tasks } = state;
  if (runsAlone(state, slot)) return ALONE;
  const last = tasks.failedOn(slot).at(-1);
  if (last === undefined) return NO_CAUTION;
  const { kin, caution } = tasks.requirement(slot);
  if (caution.avoids === last) return caution;
  if (kin.size > CAUTIONS_MAX) return NO_CAUTION;
  for (const each of kin) {
    if (each.caution === NO_CAUTION && state.matching.hasRoomFor(each, last)) {
      return { avoids: last, isAlone: false };
    }
  }
  return NO_CAUTION;
}

function runsAlone({ tasks }: SchedulerState, slot: Slot): boolean {
  const exposures = tasks.exposures(slot);
  if (exposures === 0) return false;
  return exposures >= lossesInCompany(tasks.options(slot).retry.maxLosses);
}

/** It has come further than ever before, or begins anew: what went wrong is forgotten. */
export function forgetMishaps({ tasks }: SchedulerState, slot: Slot): void {
  tasks.setExposures(slot, 0);
  tasks.setFailedOn(slot, []);
}
