/** Assignments that are not sent to the worker, as reports about them. */
import type { Assignment, ReportItem } from '../core/index.ts';
import type { Skipped, Unresolvable } from './payloads.ts';
import { cleanText } from './text.ts';

export function asFailed({ assignment: { lease }, error }: Unresolvable): ReportItem {
  const clean = { code: error.code, message: cleanText(error.message) };
  return { kind: 'failed', lease, error: clean, failure: 'fatal' };
}

export function asSkipped({ assignment: { lease }, reason }: Skipped): ReportItem {
  return { kind: 'skipped', lease, reason: cleanText(reason) };
}

export function asReturned({ lease }: Assignment): ReportItem {
  return { kind: 'released', lease };
}
