/** The field `whenFailed` of a document: a task that runs, in a job of its own, once the job has failed. */
import { taskNo } from '../ids.ts';
import type { TaskId } from '../ids.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Settings } from '../settings.ts';
import type { Priority } from '../task/chart.ts';
import type { Fields } from './reader.ts';
import { readTask, taskFields } from './task.ts';
import { asLiteral } from './template.ts';
import { mayBeDeep } from './depth.ts';
import { utf8Bytes } from './text.ts';
import { DEPTH_MAX, checkFinite } from './weigh.ts';

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
  checkFinite(input, `${job.at('whenFailed')}/input`);
  return JSON.stringify({ ...task, input: mayBePassedOn(input, settings) ? input : null });
}

/** What is said of the failure comes beside it, one level further out, and the whole is an input as any other. */
function mayBePassedOn(input: Json, { inputBytesMax }: Settings): boolean {
  const text = JSON.stringify({ input });
  if (text.length > FAILURE_INPUT_CHARS_MAX || utf8Bytes(text) * 2 > inputBytesMax) return false;
  return !mayBeDeep(text, DEPTH_MAX);
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
