/** A part of a query at work: it fetches what others have made, and leaves what it makes where it runs. */
import type { LostOutput, TaskId } from '../../src/scheduler/core/index.ts';
import { mix } from '../../src/scheduler/core/index.ts';
import type { ReadyAssignment } from '../../src/scheduler/contract/index.ts';
import type { PartInput, PartResult } from './queries.ts';
import type { Random } from './random.ts';
import type { RetainedOutputs } from './retained-outputs.ts';

/** Where the part runs. */
export interface PartPlace {
  readonly node: string;
  readonly session: string;
  readonly retainedOutputs: RetainedOutputs;
}

export type PartEnding =
  | { readonly kind: 'completed'; readonly result: string }
  | { readonly kind: 'inputLost'; readonly lost: readonly LostOutput[] };

/** `wrongRate`: how often it says that it did not find what is there. */
export function endPart(
  { input, lease, jobId, taskId }: ReadyAssignment,
  { node, session, retainedOutputs }: PartPlace,
  dice: Random,
  wrongRate: number,
): PartEnding {
  const { isUnstable, from } = JSON.parse(input) as PartInput;
  const lost: LostOutput[] = [];
  const reads: Record<string, PartResult['reads'][string]> = {};
  for (const [id, made] of Object.entries(from)) {
    if (made === null) throw new Error(`${jobId}/${taskId} was given nothing of ${id}`);
    const { fence, content } = made;
    const isThere = retainedOutputs.has(node, made.session, jobId, `${id}/${fence}`);
    if (!isThere || dice.chance(wrongRate)) lost.push({ taskId: id as TaskId, fence });
    reads[id] = { fence, content };
  }
  if (lost.length > 0) return { kind: 'inputLost', lost };
  const { fence } = lease;
  const content = contentOf(taskId, reads, isUnstable ? fence : 0);
  retainedOutputs.put(session, jobId, `${taskId}/${fence}`);
  const result: PartResult = { content, fence, session, node, reads };
  return { kind: 'completed', result: JSON.stringify(result) };
}

/** The same of the same, unless it depends on which attempt made it. */
function contentOf(taskId: string, reads: PartResult['reads'], luck: number): string {
  const text = JSON.stringify([
    taskId,
    luck,
    Object.entries(reads).map(([id, { content }]) => [id, content]),
  ]);
  let hash = 0;
  for (const letter of text) hash = mix(hash, letter.codePointAt(0) ?? 0);
  return hash.toString(36);
}
