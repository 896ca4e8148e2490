/**
 * The testing kit for users, `millrace/testing`: flows in memory, on a virtual clock, with workers that
 * crash where a test wants it. The leader, the store port and the worker are the real ones; only time and
 * the wire are not. What Millrace tests itself with lives in the testing room and is not shipped.
 */
export type { CrashPoint } from './crashes.ts';
export { fake } from './fakes.ts';
export type { Fake, Fakes } from './fakes.ts';
export type { Execution, Outcome } from './history.ts';
export { StandstillError } from './standstill.ts';
export { createTestRuntime } from './test-runtime.ts';
export type { TestJob, TestRuntimeOptions, TestSubmit } from './test-job.ts';
export type { TestRuntime } from './test-runtime.ts';
