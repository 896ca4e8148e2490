/** What a job as a whole has answered. */
import { resolveLeniently } from '../document/input.ts';
import type { TaskId, TaskNo } from '../ids.ts';
import type { Json } from '../json.ts';
import type { TaskState } from '../task/chart.ts';

export interface ResultTask {
  readonly id: TaskId;
  readonly state: TaskState;
  readonly parentNo: TaskNo | null;
  /** Whether another task of the job names it as a dependency. */
  readonly dependedOn: boolean;
  /** JSON text; null when there is none or it is null. */
  readonly result: string | null;
}

/** The result of a succeeded job. With an output template: that, with null for whatever is missing. Without one: the
 * result of the only task without dependents that no other task has added; of several such tasks an object, by id. */
export function resolveJobResult(output: string | null, tasks: readonly ResultTask[]): Json {
  if (output !== null) {
    const byId = new Map(tasks.map((task) => [task.id, task]));
    return resolveLeniently(JSON.parse(output) as Json, (id) => {
      const task = byId.get(id);
      return task?.state === 'succeeded' ? resultOf(task) : undefined;
    });
  }
  const last = tasks.filter(({ parentNo, dependedOn }) => parentNo === null && !dependedOn);
  const [only] = last;
  if (last.length === 1 && only !== undefined) return resultOf(only);
  // fromEntries defines fields: a task may be called `__proto__`.
  return Object.fromEntries(last.map((task) => [task.id, resultOf(task)]));
}

function resultOf({ state, result }: ResultTask): Json {
  return state !== 'succeeded' || result === null ? null : (JSON.parse(result) as Json);
}
