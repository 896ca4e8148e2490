/**
 * Inputs for assignments. The scheduler's memory holds no payloads: what is not known from a moment
 * ago is read from the store when a task goes out, one read for all tasks of an answer.
 */
import { inputReferences, resolveInput, taskNo } from '../core/index.ts';
import type { Assignment, Batch, Json, TaskError, TaskId, TaskNo, TaskRef } from '../core/index.ts';
import type { ReadyAssignment, StepRecord } from '../protocol/index.ts';
import { refKey } from '../store/index.ts';
import type { Store } from '../store/index.ts';
import { PayloadCache } from './payload-cache.ts';

/** The input cannot be made: the task must fail, and would fail the same way again. */
export interface Unresolvable {
  readonly assignment: Assignment;
  readonly error: TaskError;
}

export interface Hydrated {
  readonly ready: ReadyAssignment[];
  readonly failed: Unresolvable[];
}

export type FindTask = (jobNo: Assignment['lease']['jobNo'], id: TaskId) => TaskNo | null;

const NO_STEPS: readonly StepRecord[] = [];

export class Payloads {
  readonly #store: Store;
  readonly #shard: number;
  readonly #recent: PayloadCache = new PayloadCache();

  constructor(store: Store, shard: number) {
    this.#store = store;
    this.#shard = shard;
  }

  /** What was just committed need not be read back. */
  learn(batch: Batch): void {
    this.#recent.learn(batch);
  }

  async hydrate(assignments: readonly Assignment[], find: FindTask): Promise<Hydrated> {
    const ready: ReadyAssignment[] = [];
    const failed: Unresolvable[] = [];
    if (assignments.length === 0) return { ready, failed };
    const templates = await this.#templates(assignments);
    const results = await this.#results(assignments, templates, find);
    const steps = await this.#steps(assignments);
    for (const [at, assignment] of assignments.entries()) {
      const { jobNo, taskNo: no } = assignment.lease;
      const template = templates[at] ?? null;
      const done = assignment.lease.fence > 1 ? steps.get(refKey(jobNo, no)) : undefined;
      if (isPlain(template)) {
        ready.push(withInput(assignment, template ?? 'null', done ?? NO_STEPS));
        continue;
      }
      const resolved = resolveInput(template, (id) => {
        const from = find(jobNo, id);
        return from === null ? undefined : results.get(refKey(jobNo, from));
      });
      if (resolved.ok) {
        ready.push(withInput(assignment, JSON.stringify(resolved.input), done ?? NO_STEPS));
      } else failed.push({ assignment, error: resolved.error });
    }
    return { ready, failed };
  }

  /** One for each assignment. */
  async #templates(assignments: readonly Assignment[]): Promise<readonly (string | null)[]> {
    const known = assignments.map(({ lease }) => this.#recent.inputs.get(lease));
    const missing: TaskRef[] = [];
    for (const [at, text] of known.entries()) {
      const lease = assignments[at]?.lease;
      if (text === undefined && lease !== undefined) missing.push(lease);
    }
    if (missing.length === 0) return known as (string | null)[];
    const read = await this.#store.inputs(this.#shard, missing);
    return assignments.map(({ lease }, at) => {
      const text = known[at];
      return text === undefined ? (read.get(refKey(lease.jobNo, lease.taskNo)) ?? null) : text;
    });
  }

  /** Results of the tasks that the templates refer to. A succeeded task without one has null. */
  async #results(
    assignments: readonly Assignment[],
    templates: readonly (string | null)[],
    find: FindTask,
  ): Promise<ReadonlyMap<string, Json>> {
    const results = new Map<string, Json>();
    const missing = new Map<string, TaskRef>();
    for (const [at, { lease }] of assignments.entries()) {
      const template = templates[at] ?? null;
      if (isPlain(template)) continue;
      for (const id of inputReferences(template)) {
        const no = find(lease.jobNo, id);
        if (no === null) continue;
        const ref = { jobNo: lease.jobNo, taskNo: taskNo(no) };
        const known = this.#recent.results.get(ref);
        const key = refKey(ref.jobNo, ref.taskNo);
        if (typeof known === 'string') results.set(key, JSON.parse(known) as Json);
        else missing.set(key, ref);
      }
    }
    if (missing.size === 0) return results;
    const refs = [...missing.values()];
    const [bodies, rows] = await Promise.all([
      this.#store.results(this.#shard, refs),
      this.#store.taskRows(this.#shard, refs),
    ]);
    for (const [key, row] of rows) {
      if (row.state !== 'succeeded') continue;
      results.set(key, JSON.parse(bodies.get(key) ?? 'null') as Json);
    }
    return results;
  }

  /** Only a task that was assigned before can have finished steps. */
  async #steps(
    assignments: readonly Assignment[],
  ): Promise<ReadonlyMap<string, readonly StepRecord[]>> {
    const steps = new Map<string, readonly StepRecord[]>();
    const again = assignments.filter(({ lease }) => lease.fence > 1);
    if (again.length === 0) return steps;
    await Promise.all(
      again.map(async ({ lease, run }) => {
        const rows = await this.#store.steps(this.#shard, lease, run);
        const records = rows.map(({ name, body }) => ({ name, body }));
        steps.set(refKey(lease.jobNo, lease.taskNo), records);
      }),
    );
    return steps;
  }
}

/** Field by field: there are thousands of these a second, and a spread costs several times more. */
function withInput(
  assignment: Assignment,
  input: string,
  steps: readonly StepRecord[],
): ReadyAssignment {
  return {
    lease: assignment.lease,
    jobId: assignment.jobId,
    taskId: assignment.taskId,
    executor: assignment.executor,
    run: assignment.run,
    attempt: assignment.attempt,
    runMs: assignment.runMs,
    resumed: assignment.resumed,
    idempotencyKey: assignment.idempotencyKey,
    input,
    steps,
  };
}

/** Nothing in it can refer to a result, so it goes out as it is. */
function isPlain(template: string | null): boolean {
  return template === null || !template.includes('$');
}
