/** The result of a whole job, as far as it can be shown. */
import { dependencyNumbers, resolveJobResult } from '../../scheduler/core/index.ts';
import type { JobShape } from '../../scheduler/contract/index.ts';
import type { JobView } from '../../scheduler/store/index.ts';

class TooLarge extends Error {}

/** The same as JSON text. Null unless the job has succeeded and all of its result is shown. */
export function resultText(view: JobView, charsMax: number): string | null {
  const { job, tasks } = view;
  if (job.state !== 'succeeded') return null;
  const [only] = tasks;
  if (tasks.length === 1 && only?.task.state === 'succeeded' && job.output === null) {
    const text = only.result ?? 'null';
    return text.length > charsMax ? null : text;
  }
  const { result, isResultOmitted } = jobResult(view, charsMax);
  return isResultOmitted === true ? null : JSON.stringify(result);
}

/**
 * Null until the job has succeeded. Left out when more than `charsMax` characters of results go into
 * it: an output may name the same large result over and over.
 */
export function jobResult(
  { job, tasks }: JobView,
  charsMax: number,
): Pick<JobShape, 'result' | 'isResultOmitted'> {
  if (job.state !== 'succeeded') return { result: null };
  const named = new Set(tasks.flatMap(({ spec }) => dependencyNumbers(spec.dependsOn)));
  let chars = 0;
  const given = tasks.map(({ spec, task, result }) => ({
    id: spec.id,
    state: task.state,
    parentNo: spec.parentNo,
    dependedOn: named.has(spec.taskNo),
    // Read each time it is put in, and only then: most tasks of a large job are not.
    get result(): string | null {
      chars += result?.length ?? 0;
      if (chars > charsMax) throw new TooLarge();
      return result;
    },
  }));
  try {
    return { result: resolveJobResult(job.output, given) };
  } catch (error) {
    if (error instanceof TooLarge) return { result: null, isResultOmitted: true };
    throw error;
  }
}
