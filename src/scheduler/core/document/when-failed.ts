/** The field `whenFailed` of a document: a task that runs, in a job of its own, once the job has failed. */
import { taskNo } from '../ids.ts';
import type { TaskId } from '../ids.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Settings } from '../settings.ts';
import type { Priority } from '../task/chart.ts';
import type { Fields } from './reader.ts';
import { readTask, taskFields } from './task.ts';
import { asLiteral } from './template.ts';

/** The id of the task in its job. */
const FAILED_TASK = 'failed' as TaskId;

/** It is kept with the options of the job, in memory as long as the job lives: a larger input is left out. */
const FAILURE_INPUT_CHARS_MAX = 32 * 1024;

/** As text, because stores look for fields in the text around it. Null without it. */
export function readWhenFailed(job: Fields, settings: Settings, priority: Priority): string | null {
  const fields = job.inner('whenFailed');
  if (fields === undefined) return null;
  const { input = null, ...task } = job.raw('whenFailed') as JsonObject;
  // What is wrong with the task is said now, and not when the job has failed.
  readTask(taskFields({ ...task, id: FAILED_TASK }, job.at('whenFailed')), FAILED_TASK, taskNo(0), {
    ...{ settings, priority, siblings: new Map(), existing: () => undefined },
    ...{ firstNo: 0, namedBy: new Int32Array(0), options: null },
  });
  const isTooLarge = JSON.stringify(input).length > FAILURE_INPUT_CHARS_MAX;
  return JSON.stringify({ ...task, input: isTooLarge ? null : input });
}

/** The document of that job. `about` says which job has failed, and why. */
export function failureDocument(
  text: string,
  about: JsonObject,
  of: { readonly priority: Priority; readonly fairnessKey: string | null },
): JsonObject & { readonly name: string } {
  const { input = null, ...task } = JSON.parse(text) as JsonObject & {
    readonly executor: string;
    readonly input?: Json;
  };
  const { priority, fairnessKey } = of;
  return {
    name: task.executor,
    priority,
    ...(fairnessKey === null ? {} : { fairnessKey }),
    tasks: [{ ...task, id: FAILED_TASK, input: asLiteral({ ...about, input }) }],
  };
}
