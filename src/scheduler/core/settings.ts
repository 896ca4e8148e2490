import { MillraceError } from './errors.ts';
import { TASKS_PER_JOB_LIMIT } from './ids.ts';

/**
 * Every knob of the scheduler with its default, in one table, and the relations between them.
 * Durations end in `Ms`, sizes in `Bytes`.
 */
export interface Settings {
  /** How often a node renews its session. */
  readonly heartbeatMs: number;
  /** A session that was not renewed for this long ends, and its leases with it. */
  readonly sessionTtlMs: number;
  /** A stale node counts as dead after this long without a heartbeat. */
  readonly nodeDeadMs: number;
  /** A dead node is forgotten after this long. */
  readonly nodeForgetMs: number;
  readonly leaderTtlMs: number;
  readonly leaderRenewMs: number;
  /** Attempts in all, the first one included. */
  readonly maxAttempts: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** How often a task may lose its node before it is called dead. Counted apart from attempts. */
  readonly maxLosses: number;
  readonly quarantineFailures: number;
  readonly quarantineJobs: number;
  readonly quarantineWindowMs: number;
  readonly quarantineMs: number;
  readonly slotsPerNode: number;
  /** How long a finished job, the log and a completed execution key are kept. */
  readonly jobRetentionMs: number;
  /** The same for a query, whichever of the two is shorter. */
  readonly queryRetentionMs: number;
  /** The same for a job that ended in a way in which it is not kept: see `keep` in a job document. Long enough for
   * whoever waits for it to read its end, also over a change of the leader. */
  readonly unkeptRetentionMs: number;
  readonly eventRetentionMs: number;
  readonly keyRetentionMs: number;
  readonly pruneEveryMs: number;
  /** An occurrence that is so late is still on time: a fail-over is not a misfire. */
  readonly misfireGraceMs: number;
  /** How many occurrences a schedule with misfire policy `all` may catch up at once. */
  readonly catchUpMax: number;
  readonly documentBytesMax: number;
  readonly tasksPerJobMax: number;
  readonly inputBytesMax: number;
  readonly resultBytesMax: number;
  readonly stepBytesMax: number;
  readonly signalBytesMax: number;
  /** How many signals one job may ever be sent. */
  readonly signalsPerJobMax: number;
  readonly schedulesMax: number;
  /** Queries that run at the same time; others wait for admission. */
  readonly maxQueries: number;
  /** Tasks of one query that run at the same time. */
  readonly tasksPerQuery: number;
  /** Memory that the running queries may ask for together; 0 for no limit. */
  readonly queryMemoryBytes: number;
  /** A fragment that runs this many times as long as half of its siblings took is started a second time; 0 for never. */
  readonly stragglerFactor: number;
  /** But not before it has run for this long. */
  readonly stragglerMinMs: number;
  /** How many fragments of one query are started a second time. */
  readonly stragglersPerQuery: number;
  /** The most bytes that a worker is recommended to have on the way from another one; 0 if nothing is recommended. */
  readonly fetchWindowBytes: number;
  /** Workers fetch what a task will read when so many percent of its producers have ended; 100 for not before it runs. */
  readonly earlyFetchPercent: number;
  /** Smaller partitions are not worth it. */
  readonly earlyFetchMinBytes: number;
  /** How long the rows of a query are kept after it has succeeded. */
  readonly resultTtlMs: number;
  /** What is kept of the lines that the attempts of one task print, and all tasks of a job together. */
  readonly taskLogBytesMax: number;
  readonly jobLogBytesMax: number;
}

export const defaultSettings: Settings = {
  heartbeatMs: 3_000,
  sessionTtlMs: 20_000,
  nodeDeadMs: 120_000,
  nodeForgetMs: 3_600_000,
  leaderTtlMs: 10_000,
  leaderRenewMs: 3_000,
  maxAttempts: 3,
  backoffMs: 250,
  maxBackoffMs: 300_000,
  maxLosses: 5,
  quarantineFailures: 3,
  quarantineJobs: 2,
  quarantineWindowMs: 600_000,
  quarantineMs: 600_000,
  slotsPerNode: 8,
  jobRetentionMs: 7 * 24 * 3_600_000,
  queryRetentionMs: 7 * 24 * 3_600_000,
  unkeptRetentionMs: 60_000,
  eventRetentionMs: 7 * 24 * 3_600_000,
  keyRetentionMs: 30 * 24 * 3_600_000,
  pruneEveryMs: 60_000,
  misfireGraceMs: 60_000,
  catchUpMax: 100,
  documentBytesMax: 16 * 1024 * 1024,
  tasksPerJobMax: 100_000,
  inputBytesMax: 1024 * 1024,
  resultBytesMax: 4 * 1024 * 1024,
  stepBytesMax: 1024 * 1024,
  signalBytesMax: 1024 * 1024,
  signalsPerJobMax: 1_000,
  schedulesMax: 10_000,
  maxQueries: 16,
  tasksPerQuery: 32,
  queryMemoryBytes: 0,
  stragglerFactor: 3,
  stragglerMinMs: 1_000,
  stragglersPerQuery: 16,
  fetchWindowBytes: 48 * 1024 * 1024,
  earlyFetchPercent: 50,
  earlyFetchMinBytes: 64 * 1024,
  resultTtlMs: 3_600_000,
  taskLogBytesMax: 1024 * 1024,
  jobLogBytesMax: 64 * 1024 * 1024,
};

/** Settings for which 0 means no limit, or never. */
const MAY_BE_ZERO: ReadonlySet<string> = new Set([
  'queryMemoryBytes',
  'stragglerFactor',
  'fetchWindowBytes',
  'earlyFetchPercent',
  'earlyFetchMinBytes',
] satisfies (keyof Settings)[]);

/** Checks each value and the relations that the lease protocol rests on; names the culprit. */
export function checkedSettings(given: Partial<Settings> = {}): Settings {
  const settings: Settings = { ...defaultSettings, ...given };
  for (const [name, value] of Object.entries(settings)) {
    const isWhole = Number.isSafeInteger(value);
    if (MAY_BE_ZERO.has(name)) {
      if (!isWhole || value < 0) refuse(name, `must be a whole number, not ${String(value)}`);
    } else if (!isWhole || value <= 0) {
      refuse(name, `must be a whole number above 0, not ${String(value)}`);
    }
  }
  const { heartbeatMs, sessionTtlMs, leaderTtlMs, leaderRenewMs, nodeDeadMs } = settings;
  if (leaderRenewMs * 3 > leaderTtlMs) {
    refuse('leaderRenewMs', `${leaderRenewMs} is more than a third of leaderTtlMs ${leaderTtlMs}`);
  }
  if (heartbeatMs * 3 > sessionTtlMs) {
    refuse('heartbeatMs', `${heartbeatMs} is more than a third of sessionTtlMs ${sessionTtlMs}`);
  }
  // Workers must outlive a fail-over: the old leader's TTL, one renewal, one heartbeat.
  if (sessionTtlMs < leaderTtlMs + leaderRenewMs + heartbeatMs) {
    refuse(
      'sessionTtlMs',
      `${sessionTtlMs} is less than leaderTtlMs + leaderRenewMs + heartbeatMs ` +
        `(${leaderTtlMs + leaderRenewMs + heartbeatMs})`,
    );
  }
  if (settings.earlyFetchPercent > 100) {
    refuse('earlyFetchPercent', `${settings.earlyFetchPercent} is more than 100`);
  }
  if (settings.tasksPerJobMax > TASKS_PER_JOB_LIMIT) {
    refuse('tasksPerJobMax', `${settings.tasksPerJobMax} is more than ${TASKS_PER_JOB_LIMIT}`);
  }
  if (nodeDeadMs < sessionTtlMs) {
    refuse('nodeDeadMs', `${nodeDeadMs} is less than sessionTtlMs ${sessionTtlMs}`);
  }
  // The log names jobs by their number: as long as it does, the job can be looked up.
  if (settings.eventRetentionMs > settings.jobRetentionMs) {
    refuse('eventRetentionMs', `it is more than jobRetentionMs ${settings.jobRetentionMs}`);
  }
  return settings;
}

function refuse(name: string, why: string): never {
  throw new MillraceError({
    code: 'bad_setting',
    what: `The setting ${name} is not valid: ${why}.`,
    todo: 'Change it, or omit it to use the default.',
  });
}
