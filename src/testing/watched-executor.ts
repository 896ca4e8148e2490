/** An executor as a test sees it: what it does is written down, and its worker dies where the test says. */
import type { Json } from '../scheduler/core/index.ts';
import type { Executor, Recorded, StepOptions, TaskContext } from '../tasks/executors/index.ts';
import type { CrashPlan, CrashPoint } from './crashes.ts';
import type { History } from './history.ts';

export interface Watch {
  readonly plan: CrashPlan;
  readonly history: History;
  /** The worker that runs this dies at once. */
  readonly crash: () => void;
  readonly onMoved: () => void;
}

/** `sleep` waits for virtual time, not for real time. */
const TIMED = 'sleep';

export function watched(executor: Executor, watch: Watch): Executor {
  const { plan, history, crash, onMoved } = watch;
  return {
    name: executor.name,
    async run(input: Json, context: TaskContext): Promise<unknown> {
      history.began(context, executor.name === TIMED);
      const isHere = (at: CrashPoint['at']): boolean =>
        plan.isHere({ task: context.taskId, job: context.jobId, at });
      if (isHere('before')) return diedHere(crash);
      try {
        const result = await executor.run(input, watchedContext(context, watch));
        return isHere('during') ? await diedHere(crash) : result;
      } finally {
        onMoved();
      }
    },
  };
}

/** The same context, but for its steps. Its other members are made when they are asked for, and stay so. */
function watchedContext(
  context: TaskContext,
  { plan, history, crash, onMoved }: Watch,
): TaskContext {
  const { taskId: task, jobId: job } = context;
  const isHere = (step: string, at: CrashPoint['at']): boolean =>
    plan.isHere({ task, job, step, at });
  // What it returns is of the context's own making: that knows whether the handler awaits it.
  const step = <T>(
    name: string,
    fn: () => T | Promise<T>,
    options?: StepOptions,
  ): Promise<Recorded<T>> => {
    if (isHere(name, 'before')) return diedHere(crash);
    if (typeof fn !== 'function') return context.step(name, fn, options);
    const watched = async (): Promise<T> => {
      history.stepped(context, name);
      onMoved();
      const made = await fn();
      onMoved();
      return isHere(name, 'during') ? diedHere(crash) : made;
    };
    const done = context.step<T>(name, watched, options);
    return done.then((value) => (isHere(name, 'after') ? diedHere(crash) : value));
  };
  return new Proxy(context, {
    get: (target, name): unknown => (name === 'step' ? step : Reflect.get(target, name, target)),
  });
}

/** What is dead never goes on. */
function diedHere(crash: () => void): Promise<never> {
  crash();
  return new Promise(() => {});
}
