import { createHash } from 'node:crypto';
import { canonicalJson } from '../core/index.ts';
import type { Json } from '../core/index.ts';
import type { ReadyAssignment } from './worker-service.ts';

/**
 * The key under which a handler's effects are the same effect: what the user gave, or else a hash of
 * the task, its run and its input. Never the attempt: a repeated attempt must find the same key.
 */
export function idempotencyKeyOf(assignment: ReadyAssignment): string {
  if (assignment.idempotencyKey !== null) return assignment.idempotencyKey;
  const { jobId, taskId, run, input } = assignment;
  const text = canonicalJson([jobId, taskId, run, JSON.parse(input) as Json]);
  return createHash('sha256').update(text).digest('hex');
}
