/** All the checkers, each with the rule that it holds; none of them knows the core's memory. */
import { checkAdmission } from './admission.ts';
import { checkBatches } from './batches.ts';
import { checkDependencies } from './dependencies.ts';
import { checkEndings, checkJobEndings } from './endings.ts';
import type { Evidence } from './evidence.ts';
import { checkExecutionKeys, checkKeysAtRest } from './keys.ts';
import { checkLeases, checkTerms } from './leases.ts';
import { checkLimits } from './limits.ts';
import { checkLog } from './log.ts';
import { checkDebounce } from './debounce.ts';
import { checkSingletons } from './singletons.ts';
import { checkLosses } from './losses.ts';
import { checkOutputs, checkRounds } from './outputs.ts';
import { checkPromises } from './promises.ts';
import { checkReports } from './reports.ts';
import { checkResults } from './results.ts';
import { checkRows } from './rows.ts';
import { checkSchedules } from './schedules.ts';
import { checkSignals } from './signals.ts';
import { checkSteps } from './steps.ts';
import { checkSubmissions } from './submissions.ts';
import { checkWakeUps } from './wake-ups.ts';

/** Rules that hold at every moment. */
const ALWAYS = [
  checkTerms,
  checkLeases,
  checkLog,
  checkRows,
  checkDependencies,
  checkLimits,
  checkReports,
  checkResults,
  checkExecutionKeys,
  checkPromises,
  checkSchedules,
  checkSignals,
  checkSteps,
  checkSubmissions,
  checkWakeUps,
  checkOutputs,
  checkRounds,
  checkAdmission,
  checkLosses,
  checkDebounce,
  checkSingletons,
  checkBatches,
];

/** Rules that hold when everything has come to rest. */
const AT_REST = [checkEndings, checkJobEndings, checkKeysAtRest];

export function checkAll(evidence: Evidence, isAtRest: boolean): void {
  for (const check of ALWAYS) check(evidence);
  if (isAtRest) for (const check of AT_REST) check(evidence);
}
