/**
 * Inputs for assignments. The memory of the leader holds no payloads: they are read from the store
 * when a task goes out, one read for all tasks of an answer.
 */
import { inputReferences, resolveInput, taskNo } from '../core/index.ts';
import type { Assignment, Json, TaskError, TaskId, TaskNo, TaskRef } from '../core/index.ts';
import { refKey } from '../store/index.ts';
import type { Store } from '../store/index.ts';

/** An assignment with all a worker needs. */
export interface ReadyAssignment extends Assignment {
  /** JSON text. */
  readonly input: string;
}

/** The input cannot be made: the task must fail, and would fail the same way again. */
export interface Unresolvable {
  readonly assignment: Assignment;
  readonly error: TaskError;
}

export type FindTask = (jobNo: Assignment['lease']['jobNo'], id: TaskId) => TaskNo | null;

export class Payloads {
  readonly #store: Store;
  readonly #shard: number;

  constructor(store: Store, shard: number) {
    this.#store = store;
    this.#shard = shard;
  }

  async hydrate(
    assignments: readonly Assignment[],
    find: FindTask,
  ): Promise<{ readonly ready: ReadyAssignment[]; readonly failed: Unresolvable[] }> {
    if (assignments.length === 0) return { ready: [], failed: [] };
    const refs = assignments.map(({ lease }) => lease);
    const templates = await this.#store.inputs(this.#shard, refs);
    const results = await this.#results(assignments, templates, find);
    const ready: ReadyAssignment[] = [];
    const failed: Unresolvable[] = [];
    for (const assignment of assignments) {
      const { jobNo, taskNo: no } = assignment.lease;
      const template = templates.get(refKey(jobNo, no)) ?? null;
      const resolved = resolveInput(template, (id) => {
        const from = find(jobNo, id);
        return from === null ? undefined : results.get(refKey(jobNo, from));
      });
      if (resolved.ok) ready.push({ ...assignment, input: JSON.stringify(resolved.input) });
      else failed.push({ assignment, error: resolved.error });
    }
    return { ready, failed };
  }

  /** Results of the tasks that the templates refer to. A succeeded task without one has null. */
  async #results(
    assignments: readonly Assignment[],
    templates: ReadonlyMap<string, string>,
    find: FindTask,
  ): Promise<ReadonlyMap<string, Json>> {
    const wanted = new Map<string, TaskRef>();
    for (const { lease } of assignments) {
      const template = templates.get(refKey(lease.jobNo, lease.taskNo)) ?? null;
      for (const id of inputReferences(template)) {
        const no = find(lease.jobNo, id);
        if (no === null) continue;
        wanted.set(refKey(lease.jobNo, no), { jobNo: lease.jobNo, taskNo: taskNo(no) });
      }
    }
    const results = new Map<string, Json>();
    if (wanted.size === 0) return results;
    const refs = [...wanted.values()];
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
}
