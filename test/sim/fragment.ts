/** A fragment of a query at work: it fetches what others have made, and leaves what it makes where it runs. */
import type { Json, LostOutput, TaskId } from '../../src/scheduler/core/index.ts';
import { mix } from '../../src/scheduler/core/index.ts';
import { InputLostError } from '../../src/tasks/executors/index.ts';
import type { TaskContext } from '../../src/tasks/executors/index.ts';
import type { OutputNetwork, ProcessOutputs } from './outputs.ts';
import type { FragmentInput, FragmentResult } from './queries.ts';
import type { Random } from './random.ts';

/** Where the fragment runs. */
export interface FragmentPlace {
  /** The name of its process. */
  readonly process: string;
  readonly own: ProcessOutputs;
  readonly all: OutputNetwork;
}

/** `wrongRate`: how often it says that it did not find what is there. */
export function runFragment(
  input: Json,
  { jobId, taskId, fence }: Pick<TaskContext, 'jobId' | 'taskId' | 'fence'>,
  { process, own, all }: FragmentPlace,
  dice: Random,
  wrongRate: number,
): FragmentResult {
  const { isNonDeterministic, kind, from } = input as unknown as FragmentInput;
  const lost: LostOutput[] = [];
  const reads: Record<string, FragmentResult['reads'][string]> = {};
  for (const [id, made] of Object.entries(from)) {
    if (made === null) throw new Error(`${jobId}/${taskId} was given nothing of ${id}`);
    const name = { query: jobId, task: id, fence: made.fence };
    const isThere = all.has(own.life, made.process, name, made.content);
    if (!isThere || dice.chance(wrongRate)) lost.push({ taskId: id as TaskId, fence: made.fence });
    reads[id] = { fence: made.fence, content: made.content };
  }
  if (lost.length > 0) throw new InputLostError(lost, 'it is not there');
  const content = contentOf(taskId, reads, isNonDeterministic ? fence : 0);
  own.put({ query: jobId, task: taskId, fence }, { content, kind });
  return { content, fence, process, reads };
}

/** The same of the same, unless it depends on which attempt made it. */
function contentOf(taskId: string, reads: FragmentResult['reads'], luck: number): string {
  const text = JSON.stringify([
    taskId,
    luck,
    Object.entries(reads).map(([id, { content }]) => [id, content]),
  ]);
  let hash = 0;
  for (const letter of text) hash = mix(hash, letter.codePointAt(0) ?? 0);
  return hash.toString(36);
}
