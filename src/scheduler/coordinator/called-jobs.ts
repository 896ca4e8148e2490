/** How a job has ended that a task called and waited for. */
import { dependencyNumbers, inputReferences, resolveJobResult } from '../core/index.ts';
import type { JobId, JobImage, JobState, ResultTask, TaskError, TaskRef } from '../core/index.ts';
import type { StepRecord } from '../contract/index.ts';
import { refKey } from '../store/index.ts';
import type { Store } from '../store/index.ts';
import { boundedText } from './bounded-json.ts';
import type { PayloadCache } from './payload-cache.ts';
import type { ResultReader } from './result-reader.ts';

/** Steps with this prefix record the end of a called job. */
export const CALLED_JOB = '$job/';

/** The record that the scheduler wrote when the job ended. */
interface Ended {
  readonly jobId: JobId;
  readonly state: JobState;
  /** When its caller got the answer. */
  readonly at: number;
}

export function hasCalledJob(steps: readonly StepRecord[]): boolean {
  return steps.some(({ name }) => name.startsWith(CALLED_JOB));
}

export interface CalledJobsOptions {
  readonly store: Store;
  readonly shard: number;
  readonly reader: ResultReader;
  readonly recent: PayloadCache['answers'];
  readonly bytesMax: number;
}

/** The steps with the results and errors of the called jobs in them, or why the task cannot go on. */
export async function withCalledJobs(
  steps: readonly StepRecord[],
  options: CalledJobsOptions,
): Promise<readonly StepRecord[] | TaskError> {
  const all: StepRecord[] = [];
  let leftBytes = options.bytesMax;
  for (const step of steps) {
    const { name } = step;
    if (!name.startsWith(CALLED_JOB)) {
      all.push(step);
      continue;
    }
    const answer = await answerOf(JSON.parse(step.body) as Ended, {
      ...options,
      bytesMax: leftBytes,
    });
    if ('code' in answer) return answer;
    leftBytes -= answer.body.length;
    all.push({ name, body: answer.body });
  }
  return all;
}

async function answerOf(
  { jobId, state, at }: Ended,
  options: CalledJobsOptions,
): Promise<{ readonly body: string } | TaskError> {
  const known = options.recent.get(jobId) ?? null;
  if (known !== null && known.length <= options.bytesMax) return { body: known };
  const image = await options.store.loadJob(options.shard, jobId);
  if (image === null) return expired(jobId);
  const result = state === 'succeeded' ? await jobResultText(image, options) : 'null';
  if (result === null) return tooLarge(jobId);
  const { error } = image.job;
  const fields = JSON.stringify({ jobId, state, at, error }).slice(0, -1);
  const body = `${fields},"result":${result}}`;
  if (body.length <= KEPT_LENGTH_MAX) options.recent.set(jobId, body);
  return { body };
}

/** As JSON text; null when it is too large. Only the results that it is made of are read. */
export async function jobResultText(
  { job, specs, tasks }: JobImage,
  { reader, bytesMax }: Pick<CalledJobsOptions, 'reader' | 'bytesMax'>,
): Promise<string | null> {
  const named = new Set(specs.flatMap(({ dependsOn }) => dependencyNumbers(dependsOn)));
  const wanted = job.output === null ? null : new Set(inputReferences(job.output));
  const refs: TaskRef[] = [];
  for (const { jobNo, taskNo, id, parentNo } of specs) {
    const isLast = parentNo === null && !named.has(taskNo);
    if (wanted === null ? isLast : wanted.has(id)) refs.push({ jobNo, taskNo });
  }
  const outcomes = await reader.read(refs, bytesMax);
  if (outcomes === null) return null;
  let characters = job.output?.length ?? 0;
  const all = specs.map((spec, at): ResultTask => {
    const { id, taskNo, parentNo } = spec;
    const result = outcomes.get(refKey(spec.jobNo, taskNo))?.result ?? null;
    characters += id.length + (result?.length ?? 4);
    const state = tasks[at]?.state ?? 'skipped';
    return { id, state, parentNo, dependedOn: named.has(taskNo), result };
  });
  // An output may name the same result many times.
  const times = job.output === null ? 1 : timesNamed(job.output);
  return boundedText(resolveJobResult(job.output, all), characters * times, bytesMax);
}

/** Few large ones would drive out all the others. */
const KEPT_LENGTH_MAX = 1024 * 1024;

function timesNamed(output: string): number {
  return output.split('"$from"').length;
}

function expired(jobId: JobId): TaskError {
  const message = `The called job ${jobId} has ended but is past its retention. Set jobRetentionMs longer than a task may wait.`;
  return { code: 'expired', message };
}

function tooLarge(jobId: JobId): TaskError {
  const message = `The result of the called job ${jobId} is too large to be passed on. Return a smaller output, and pass large data by location.`;
  return { code: 'too_large', message };
}
