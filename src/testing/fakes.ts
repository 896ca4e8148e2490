/** Functions that run instead of tasks. */
import type { Json } from '../scheduler/core/index.ts';
import type { Executor, TaskContext } from '../tasks/executors/index.ts';
import { defineTask } from '../tasks/flow/index.ts';
import type { ExternalTask, Jsonified, Task } from '../tasks/flow/index.ts';

/** What `fake` makes. */
export interface Fake {
  readonly name: string;
  readonly run: Executor['run'];
}

/** Functions by the names of tasks and executors, or a list of what `fake` makes. */
export type Fakes = Readonly<Record<string, Executor['run']>> | readonly Fake[];

/** Nothing is null. */
type FakeResult<Result> = null extends Result ? Result | void : Result;

/**
 * A function that runs instead of a task, with the task's types. The schemas of the task stay in force: an input that
 * they refuse fails the task, and so does a result.
 *
 * ```ts
 * createTestRuntime({ fakes: [fake(charge, ({ cents }) => ({ receipt: `r-${cents}` }))] });
 * ```
 */
export function fake<Input, Result>(
  task: Task<Input, Result> | ExternalTask<Input, Result>,
  run: (
    input: Jsonified<Input>,
    context: TaskContext,
  ) => FakeResult<NoInfer<Result>> | Promise<FakeResult<NoInfer<Result>>>,
): Fake {
  const { name } = task;
  const given = (input: Json): Jsonified<Input> => input as Jsonified<Input>;
  if (task.kind === 'millrace.external')
    return { name, run: (input, context) => run(given(input), context) };
  const { inputSchema, outputSchema } = task;
  return {
    name,
    run: (input, context) =>
      defineTask({
        name,
        ...(inputSchema === undefined ? {} : { input: inputSchema }),
        ...(outputSchema === undefined ? {} : { output: outputSchema }),
        run: (_checked: unknown, own: TaskContext) => run(given(input), own),
      }).run(input, context),
  };
}

export function fakesIn(fakes: Fakes): readonly Fake[] {
  if (isList(fakes)) return fakes;
  return Object.entries(fakes).map(([name, run]) => ({ name, run }));
}

function isList(fakes: Fakes): fakes is readonly Fake[] {
  return Array.isArray(fakes);
}
