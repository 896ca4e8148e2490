import type { Settings } from '../../../src/scheduler/core/index.ts';

/** Settings that a test may give a node; `clockOffsetMs` makes its clock wrong. */
export type TestSettings = Partial<Settings> & {
  readonly clockOffsetMs?: number;
  readonly webhookSecrets?: string;
};

/** Short enough that a test need not wait long, long enough for a busy machine. */
const SHORT: TestSettings = {
  leaderTtlMs: 1_500,
  leaderRenewMs: 400,
  sessionTtlMs: 4_000,
  heartbeatMs: 400,
  nodeDeadMs: 5_000,
};

/** Each setting under the name that a node reads it by: `leaderTtlMs` is `MILLRACE_LEADER_TTL_MS`. */
export function settingsEnvironment(given: TestSettings = {}): Record<string, string> {
  const settings = Object.entries({ ...SHORT, ...given });
  return Object.fromEntries(
    settings.map(([name, value]) => [`MILLRACE_${upperSnake(name)}`, `${value}`]),
  );
}

function upperSnake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
