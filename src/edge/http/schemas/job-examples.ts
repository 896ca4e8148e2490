/** Jobs and tasks as the description of the API shows them. */
import type { JsonObject } from '../../../scheduler/core/index.ts';

export const ASKED_AT: JsonObject = { seq: 42, at: '2026-11-15T02:00:01.000Z' };

export const SUMMARY_EXAMPLE: JsonObject = {
  id: '0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
  no: 7,
  name: 'nightly',
  state: 'running',
  run: 1,
  priority: 2,
  taskCount: 1,
  idempotencyKey: '2026-11-15',
  labels: { team: 'billing' },
  runAt: null,
  trace: '4bf92f3577b34da6a3ce929d0e0e4736',
  keep: 'all',
  startedBy: null,
  scheduleId: null,
  scheduledAt: null,
  error: null,
  createdAt: '2026-11-15T02:00:00.000Z',
  startedAt: '2026-11-15T02:00:00.120Z',
  finishedAt: null,
};

export const TASK_EXAMPLE: JsonObject = {
  id: 'fetch',
  state: 'running',
  run: 1,
  attempt: 1,
  node: 'w-1',
  executor: 'http',
  dependsOn: [],
  parent: null,
  progress: 0.5,
  result: null,
  error: null,
  waiting: null,
  queuedAt: '2026-11-15T02:00:00.000Z',
  startedAt: '2026-11-15T02:00:00.120Z',
  finishedAt: null,
};

export const LEASE_EXAMPLE: JsonObject = {
  node: 'w-1',
  attempt: 1,
  fence: 1,
  since: '2026-11-15T02:00:00.100Z',
  expiresAt: '2026-11-15T02:00:20.100Z',
};

export const ATTEMPT_EXAMPLE: JsonObject = {
  run: 1,
  attempt: 1,
  fence: 1,
  node: 'w-1',
  started: '2026-11-15T02:00:00.120Z',
  finished: null,
  outcome: null,
  error: null,
  speculative: false,
};
