/**
 * The life of a task, drawn once. `docs/states.md` shows the same chart and a test compares them.
 * Nothing else in the code decides whether a move is allowed.
 */
export const TASK_STATES = [
  'blocked',
  'ready',
  'delayed',
  'running',
  'succeeded',
  'failed',
  'cancelled',
  'skipped',
] as const;
export type TaskState = (typeof TASK_STATES)[number];
export type TerminalState = 'succeeded' | 'failed' | 'cancelled' | 'skipped';

/** Where a task may go from each state. Terminal states absorb within a run: the only way out is
 * a new run (re-run, redrive, recomputation), which begins `blocked`. */
export const TASK_MOVES: Readonly<Record<TaskState, readonly TaskState[]>> = {
  blocked: ['ready', 'delayed', 'succeeded', 'failed', 'cancelled', 'skipped'],
  ready: ['blocked', 'running', 'failed', 'cancelled'],
  delayed: ['blocked', 'ready', 'failed', 'cancelled'],
  running: ['blocked', 'ready', 'delayed', 'succeeded', 'failed', 'cancelled', 'skipped'],
  succeeded: ['blocked'],
  failed: ['blocked'],
  cancelled: ['blocked'],
  skipped: ['blocked'],
};

export function isTerminal(state: TaskState): state is TerminalState {
  return (
    state === 'succeeded' || state === 'failed' || state === 'cancelled' || state === 'skipped'
  );
}

export const JOB_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

export function isFinished(state: JobState): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled';
}

/** 0 is urgent, 3 is low; 0 goes first. */
export const PRIORITIES = [0, 1, 2, 3] as const;
export type Priority = (typeof PRIORITIES)[number];
