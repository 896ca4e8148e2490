/**
 * The settings of a leader that is never in a hurry. Background work (renewing terms and sessions, removing old jobs)
 * happens in ages, so that a timer within the horizon always belongs to user work, and days of virtual time cost no
 * heartbeats.
 */
import { checkedSettings } from '../scheduler/core/index.ts';
import type { Settings } from '../scheduler/core/index.ts';

const YEAR_MS = 365 * 24 * 3_600_000;

/** The longest wait that a document or a handler can ask for is ten years. */
export const HORIZON_MS: number = 20 * YEAR_MS;

export function unhurried(given: Partial<Settings>): Settings {
  return checkedSettings({
    leaderRenewMs: 100 * YEAR_MS,
    leaderTtlMs: 300 * YEAR_MS,
    heartbeatMs: 400 * YEAR_MS,
    sessionTtlMs: 1_200 * YEAR_MS,
    nodeDeadMs: 1_300 * YEAR_MS,
    nodeForgetMs: 1_400 * YEAR_MS,
    jobRetentionMs: 1_000 * YEAR_MS,
    unkeptRetentionMs: 1_000 * YEAR_MS,
    eventRetentionMs: 1_000 * YEAR_MS,
    keyRetentionMs: 1_000 * YEAR_MS,
    pruneEveryMs: 1_000 * YEAR_MS,
    ...given,
  });
}
