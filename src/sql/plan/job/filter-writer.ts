/** Runtime filters in the tasks of a query: who reports keys, who decides, and whose scans are filtered. */
import {
  filterTaskId,
  fragmentTaskId,
  type Json,
  type JsonObject,
} from '../../../scheduler/core/index.ts';
import { filterTasks, keyColumns } from '../adapt/filter-tasks.ts';
import type { FilterKeys, FilterTask } from '../adapt/decide-filters.ts';
import type { QueryPlan, RuntimeFilter } from '../physical/plan.ts';

export class FilterWriter {
  /** Those that decide. */
  readonly tasks: ReturnType<typeof filterTasks>;
  readonly #plan: QueryPlan;
  /** The number of each stage's first task. */
  readonly #firsts: readonly number[];

  constructor(plan: QueryPlan, firsts: readonly number[]) {
    this.#plan = plan;
    this.#firsts = firsts;
    this.tasks = filterTasks(plan);
  }

  /** The number of the task that decides how the scans of a stage are filtered; null if there is none. */
  no(stage: number): number | null {
    return this.tasks.find((task) => task.stage === stage)?.no ?? null;
  }

  /** What the tasks of a stage have to know. Workers that do not know these fields read and return all rows. */
  fields(stage: number, only?: 'filters'): JsonObject {
    const columns = only === undefined ? keyColumns(this.#plan, stage) : [];
    const { tasks = 1 } = this.#plan.stages[stage] ?? {};
    const isFiltered = this.no(stage) !== null;
    return {
      ...(columns.length === 0 ? {} : { keys: { columns, tasks } }),
      ...(isFiltered ? { filters: { $from: filterTaskId(stage), path: '/filters' } } : {}),
      ...(isFiltered && this.#plan.analyze === true ? { countsFiltered: true } : {}),
    };
  }

  /** The input of the task that decides, and the numbers of those that it depends on. */
  decision(stage: number): { readonly numbers: readonly number[]; readonly input: JsonObject } {
    const own = (this.#plan.filters ?? []).filter((filter) => filter.stage === stage);
    const producers = own.map(({ keys }) => {
      const { tasks = 0 } = this.#plan.stages[keys.stage] ?? {};
      return Array.from({ length: tasks }, (_, at) => at);
    });
    const numbers = own.flatMap(({ keys }, at) =>
      (producers[at] ?? []).map((task) => (this.#firsts[keys.stage] ?? 0) + task),
    );
    const filters = own.map((filter, at) => this.#keys(filter, producers[at] ?? []));
    const input: Record<keyof FilterTask, Json> = { filters };
    return { numbers, input };
  }

  #keys(filter: RuntimeFilter, producers: readonly number[]): JsonObject {
    const { stage, column } = filter.keys;
    const place = keyColumns(this.#plan, stage).indexOf(column);
    const from = producers.map((task) => fragmentTaskId(stage, task));
    const written: Record<keyof FilterKeys, Json> = {
      filter: filter as unknown as Json,
      parts: from.map(($from) => ({ $from, path: '/parts' })),
      keys: from.map(($from) => ({ $from, path: '/keys', missing: 'null' })),
      place,
    };
    return written;
  }
}
