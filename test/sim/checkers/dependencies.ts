import type { Need, TaskState } from '../../../src/scheduler/core/index.ts';
import { isTerminal } from '../../../src/scheduler/core/index.ts';
import type { Evidence } from './evidence.ts';

/** A task becomes ready only when its dependencies allow it: by the document that was submitted. */
export function checkDependencies({ tables, replay, witness, findings }: Evidence): void {
  const numbers = new Map<string, number>();
  for (const spec of tables.specs.values()) numbers.set(`${spec.jobNo}/${spec.id}`, spec.taskNo);
  for (const { event, states } of replay.readied) {
    const job = tables.jobs.get(event.jobNo as never);
    const spec = tables.specs.get(`${event.jobNo}/${event.taskNo}`);
    const document = job === undefined ? undefined : witness.jobs.get(job.id)?.document;
    const task = document?.tasks.find(({ id }) => id === spec?.id);
    for (const each of task?.dependsOn ?? []) {
      const { id, required } =
        typeof each === 'string' ? { id: each, required: true as const } : each;
      const state = states.get(numbers.get(`${event.jobNo}/${id}`) ?? -1);
      if (allows(state, required)) continue;
      const what = `${job?.id}/${spec?.id} became ready (event ${event.seq})`;
      findings.add('dependencies', `${what} while ${id} was ${state ?? 'unknown'}`);
    }
  }
}

function allows(state: TaskState | undefined, required: Need): boolean {
  if (state === undefined) return false;
  if (required === 'unlessSkipped') return state === 'succeeded' || state === 'skipped';
  return required ? state === 'succeeded' : isTerminal(state);
}
