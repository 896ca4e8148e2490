/**
 * Tasks for tests with real processes, as a module that a node loads by `--module`. Each leaves a trace in
 * the effects log, and signs its result, so that the audit can tell whose result was accepted.
 */
import { deferred, systemClock } from '../../../../src/kit/index.ts';
import { appearance } from '../appearance.ts';
import { appendEffect, EFFECTS_FILE } from '../effects-log.ts';
import type { Effect } from '../effects-log.ts';

/** What these handlers use of a task's context. */
export interface FaultContext {
  readonly signal: AbortSignal;
  readonly jobId: string;
  readonly taskId: string;
  readonly attempt: number;
  readonly fence: number;
  readonly idempotencyKey: string;
  progress(fraction: number, note?: string): void;
  step<T>(name: string, fn: () => T | Promise<T>): Promise<T>;
  readonly log: { info(message: string): void };
}

interface FaultInput {
  readonly ms?: number;
  readonly times?: number;
  readonly file?: string;
  readonly value?: unknown;
}

interface FaultTask {
  readonly kind: 'millrace.task';
  readonly name: string;
  run(input: unknown, context: FaultContext): Promise<unknown>;
}

export interface Signed {
  readonly signed: { readonly attempt: number; readonly fence: number };
  readonly value: unknown;
}

/** `begin` is noted before the work, `end` after it, `aborted` when the work was not wanted any more. */
function task(
  name: string,
  work: (input: FaultInput, context: FaultContext) => unknown,
): FaultTask {
  return {
    kind: 'millrace.task',
    name,
    run: async (given, context): Promise<Signed> => {
      const input = inputOf(given);
      note('begin', context);
      try {
        const value = (await work(input, context)) ?? input.value ?? null;
        note('end', context);
        return { signed: { attempt: context.attempt, fence: context.fence }, value };
      } catch (error) {
        if (context.signal.aborted) note('aborted', context);
        throw error;
      }
    },
  };
}

function inputOf(given: unknown): FaultInput {
  return typeof given === 'object' && given !== null ? given : {};
}

function note(what: Effect['what'], context: FaultContext): void {
  const file = process.env[EFFECTS_FILE];
  if (file === undefined) return;
  const { jobId: job, taskId, attempt, fence, idempotencyKey: key } = context;
  appendEffect(file, { what, job, task: taskId, attempt, fence, pid: process.pid, key });
}

/** Rejects as soon as the work is not wanted any more. */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const aborted = deferred<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Begins and ends. */
export const noting: FaultTask = task('note', () => null);

/** Never ends by itself. */
export const hanging: FaultTask = task('hang', (_, { signal }) =>
  unlessAborted(signal, deferred<never>().promise),
);

/** Hears of nothing at all until it ends. */
export const deaf: FaultTask = task('deaf', async ({ ms = 0 }) => {
  const over = deferred();
  systemClock.after(ms, over.resolve);
  await over.promise;
});

/** Nothing else runs in its thread for `ms`. */
export const blocking: FaultTask = task('block', ({ ms = 0 }) => {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(cell, 0, 0, ms);
});

/** Has its effect at once and reports it only when `file` is there. */
export const effectThenWait: FaultTask = task('effectThenWait', async ({ file }, context) => {
  note('effect', context);
  if (file !== undefined) await unlessAborted(context.signal, appearance(file));
});

/** The effect is a step: an attempt after one that finished it does not have it again. */
export const stepThenWait: FaultTask = task('stepThenWait', async ({ file }, context) => {
  await context.step('effect', () => note('effect', context));
  if (file !== undefined) await unlessAborted(context.signal, appearance(file));
});

/** Fails `times` times and then succeeds. */
export const failing: FaultTask = task('fail', ({ times = 1 }, { attempt }) => {
  if (attempt <= times) throw new Error(`attempt ${attempt} of ${times} that fail`);
});

/** Ends when a file appears. */
export const waiting: FaultTask = task('waitForFile', async ({ file }, { signal, log }) => {
  log.info('waits');
  if (file !== undefined) await unlessAborted(signal, appearance(file));
  log.info('has waited');
});

/** Speaks of its progress until a file appears. */
export const progressing: FaultTask = task('progress', async ({ file, ms = 20 }, context) => {
  let round = 0;
  let cancel = (): void => {};
  const speak = (): void => {
    round += 1;
    context.progress((round % 100) / 100, `round ${round}`);
    cancel = systemClock.after(ms, speak);
  };
  speak();
  try {
    if (file !== undefined) await unlessAborted(context.signal, appearance(file));
  } finally {
    cancel();
  }
});

/** Takes its process with it. */
export const crashing: FaultTask = task('crash', ({ times = 1 }, { attempt }) => {
  if (attempt <= times) process.kill(process.pid, 'SIGKILL');
});
