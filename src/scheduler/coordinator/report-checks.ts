/** Turns the report of a worker into an event of the core. What the store could not keep, or no consumer could read,
 * fails the task instead: a repeated report would be no better. */
import { MillraceError, TASKS_PER_JOB_LIMIT } from '../core/index.ts';
import type { LeaseName, ReportItem, Settings } from '../core/index.ts';
import { SUBMITTED_STEP, submittedJobId } from '../contract/index.ts';
import type { WorkerReport } from '../contract/index.ts';
import { CALLED_JOB } from './called-jobs.ts';
import { payloadFault, sizeFault, stepNameFault } from './payload-checks.ts';
import { checkedDocument, checkedSuspension, reservedNameFault } from './suspension-checks.ts';
import type { LeasedJob } from './suspension-checks.ts';
import { type EventChecks, checkedEvent, isEventDocument } from './task-events.ts';
import { cleanText } from './text.ts';

export interface ReportChecks extends EventChecks {
  /** The job of the lease, if it is in memory; otherwise null. */
  readonly jobOf: (lease: LeaseName) => LeasedJob | null;
}

export function checkedReport(report: WorkerReport, checks: ReportChecks): ReportItem {
  checkLease(report.lease);
  const { resultBytesMax } = checks.settings;
  switch (report.kind) {
    case 'completed': {
      const { result, lease } = report;
      if (result === null) return report;
      return badPayload(lease, 'bad_result', 'its result', result, resultBytesMax) ?? report;
    }
    case 'step':
      return checkedStep(report, checks.settings);
    case 'failed': {
      const { code, message } = report.error;
      const { retryAfterMs: waitMs = 0 } = report;
      if (!Number.isSafeInteger(waitMs) || waitMs < 0) throw badWait(waitMs);
      return { ...report, error: { code: cleanText(code), message: cleanText(message) } };
    }
    case 'inputLost': {
      const { code, message } = report.error;
      return { ...report, error: { code: cleanText(code), message: cleanText(message) } };
    }
    case 'progress': {
      const { fraction, note } = report;
      return {
        ...report,
        fraction: Number.isFinite(fraction) ? fraction : 0,
        note: note === null ? null : cleanText(note),
      };
    }
    case 'started':
    case 'aborted':
    case 'released':
      return report;
    case 'suspended': {
      const { lease, until } = report;
      const checked = checkedSuspension(until, checks, checks.jobOf(lease));
      if ('code' in checked) return failed(lease, checked.code, checked.message);
      return { kind: 'suspended', lease, until: checked };
    }
    case 'submitted':
      return checkedSubmission(report, checks);
  }
}

/** The job and the step that says so come into being together. */
function checkedSubmission(
  { lease, run, name, document }: Extract<WorkerReport, { kind: 'submitted' }>,
  checks: ReportChecks,
): ReportItem {
  if (!isCount(run, COUNT_MAX)) throw badRun(run);
  const step = `${SUBMITTED_STEP}${name}`;
  const wrong = reservedNameFault(step);
  if (wrong !== null)
    return failed(lease, 'bad_step', `the name ${name.slice(0, 80)} of a submission ${wrong}`);
  const jobId = submittedJobId(lease, run, name);
  if (isEventDocument(document)) {
    const event = checkedEvent(document, jobId, checks);
    if ('code' in event) return failed(lease, event.code, event.message);
    const { sent, refused } = event;
    const body = JSON.stringify({ id: jobId, ...(refused.length > 0 && { refused }) });
    return { kind: 'step', lease, name: step, body, sent };
  }
  const parsed = checkedDocument(document, checks, null);
  if ('code' in parsed) return failed(lease, parsed.code, parsed.message);
  const job = { jobId, document: parsed.document, ended: null };
  return { kind: 'step', lease, name: step, body: JSON.stringify({ jobId }), job };
}

/** No worker was ever given such a lease, and the store could not even look for it. */
function checkLease({ jobNo, taskNo, fence }: LeaseName): void {
  const isLease =
    Number.isSafeInteger(jobNo) &&
    isCount(taskNo, TASKS_PER_JOB_LIMIT) &&
    isCount(fence, COUNT_MAX);
  if (isLease) return;
  throw new MillraceError({
    code: 'bad_input',
    what: `${jobNo}/${taskNo} with the fence ${fence} is not a valid lease.`,
    todo: 'Report leases exactly as a poll returned them.',
  });
}

function badWait(waitMs: number): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: `${waitMs} is not a valid time to wait, in milliseconds.`,
  });
}

function badRun(run: number): MillraceError {
  return new MillraceError({ code: 'bad_input', what: `${run} is not the number of a run.` });
}

/** Columns of four bytes in the databases. */
const COUNT_MAX = 2 ** 31;

function isCount(value: number, below: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value < below;
}

function checkedStep(
  step: Extract<WorkerReport, { kind: 'step' }>,
  { stepBytesMax }: Settings,
): ReportItem {
  const name = cleanText(step.name);
  // The leader reads these itself when it sends the task out, so handlers may not write them.
  const badName = name.startsWith(CALLED_JOB)
    ? 'belongs to a called job'
    : // Stored under a different name, it would not be found by later attempts.
      name === step.name
      ? stepNameFault(name)
      : 'contains a character that cannot be stored';
  if (badName !== null)
    return failed(step.lease, 'bad_step', `the name ${name.slice(0, 80)} of a step ${badName}`);
  const what = `the result of step ${name}`;
  return badPayload(step.lease, 'bad_step', what, step.body, stepBytesMax) ?? { ...step, name };
}

/** A payload that is too large has one code, wherever it is found: a worker cannot even send the largest. */
function badPayload(
  lease: LeaseName,
  code: string,
  what: string,
  text: string,
  bytesMax: number,
): ReportItem | null {
  const large = sizeFault(text, bytesMax);
  if (large !== null) return failed(lease, 'too_large', `${what} ${large}; ${ELSEWHERE}`);
  const fault = payloadFault(text, bytesMax);
  return fault === null ? null : failed(lease, code, `${what} ${fault}`);
}

const ELSEWHERE = 'store large data in a file or an object store, and return its location';

function failed(lease: LeaseName, code: string, message: string): ReportItem {
  return { kind: 'failed', lease, error: { code, message: cleanText(message) }, failure: 'fatal' };
}
