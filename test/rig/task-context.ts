/** A context for one handler that runs outside of any worker. It records the calls. */
import type { JobId, TaskId } from '../../src/scheduler/core/index.ts';
import type { TaskContext, TaskLog, WithAttemptHooks } from '../../src/tasks/executors/index.ts';

export interface TestContext extends TaskContext {
  readonly logged: string[];
  readonly progressed: (readonly [number, string | undefined])[];
  /** Stops the handler as a worker would. */
  readonly abort: (reason: unknown) => void;
}

export function testContext(parts: Partial<TaskContext> = {}): TestContext {
  const control = new AbortController();
  const logged: string[] = [];
  const progressed: (readonly [number, string | undefined])[] = [];
  const line =
    (level: keyof TaskLog) =>
    (message: string): void => {
      logged.push(`${level} ${message}`);
    };
  const unexpected = (): Promise<never> => Promise.reject(new Error('not expected in this test'));
  return {
    signal: control.signal,
    jobId: 'job-1' as JobId,
    taskId: 'task-1' as TaskId,
    attempt: 1,
    run: 1,
    fence: 1,
    idempotencyKey: 'key-1',
    scheduledAt: null,
    startedBy: null,
    labels: {},
    progress: (fraction, note) => void progressed.push([fraction, note]),
    step: async (_name, fn) => (await fn()) as never,
    sleep: unexpected,
    waitFor: unexpected,
    waitForEvent: unexpected,
    call: unexpected,
    submit: unexpected,
    send: unexpected,
    map: unexpected,
    completeWith: unexpected,
    log: {
      debug: line('debug'),
      info: line('info'),
      warn: line('warn'),
      error: line('error'),
    },
    ...parts,
    logged,
    progressed,
    abort: (reason) => control.abort(reason),
  };
}

/** The contexts of the attempts of one task, by number. Their steps last, as a worker has them. */
export function attemptsOf(taskId: string): (attempt: number) => TestContext & WithAttemptHooks {
  const steps = new Map<string, unknown>();
  return (attempt) => ({
    ...testContext({
      taskId: taskId as TaskId,
      attempt,
      fence: attempt,
      step: async (name, fn) => {
        if (!steps.has(name)) steps.set(name, await fn());
        return steps.get(name) as never;
      },
    }),
    attemptHooks: {
      hold: () => () => {},
      onSuspended: () => {},
      unfit: () => Promise.resolve(),
      hasStep: (name) => steps.has(name),
    },
  });
}

/** What the handler throws, whether at once or later. */
export async function thrownBy(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
