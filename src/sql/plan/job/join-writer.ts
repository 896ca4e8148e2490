/** Joins in the tasks of a query that may run in another way: who decides, and what both ways read. */
import {
  fragmentTaskId,
  joinTaskId,
  type Json,
  type JsonObject,
} from '../../../scheduler/core/index.ts';
import { joinTasks, type JoinTask } from '../adapt/decide-join.ts';
import { versionOf, type AdaptiveJoin, type QueryPlan, type Stage } from '../physical/plan.ts';
import { PLAN_TASK } from '../physical/task.ts';
import type { FilterWriter } from './filter-writer.ts';
import type { TaskScan } from './task-scans.ts';

interface JoinWriterOptions {
  readonly plan: QueryPlan;
  /** The number of each stage's first task. */
  readonly firsts: readonly number[];
  readonly filters: FilterWriter;
  /** What each task of a stage reads of its tables, in the order of its scans. */
  readonly scans: (stage: Stage) => readonly (readonly TaskScan[])[];
}

export class JoinWriter {
  /** Those that decide. */
  readonly tasks: ReturnType<typeof joinTasks>;
  readonly #options: JoinWriterOptions;
  readonly #scans = new Map<number, readonly (readonly TaskScan[])[]>();

  constructor(options: JoinWriterOptions) {
    this.#options = options;
    this.tasks = joinTasks(options.plan);
  }

  /** The stage whose tasks need not run if those of this one read its tables; null if there is none. */
  probeOf(stage: number): Stage | null {
    const join = this.#of(stage);
    return join === null ? null : this.#stage(join.probe);
  }

  #of(stage: number): AdaptiveJoin | null {
    return this.tasks.find((task) => task.stage === stage)?.join ?? null;
  }

  #stage(id: number): Stage {
    return this.#options.plan.stages[id] as Stage;
  }

  /** The numbers of all tasks that the tasks of a stage wait for because of a decision. */
  waitsFor(stage: number): readonly number[] {
    const { filters } = this.#options;
    return this.tasks.flatMap(({ no, join }) => {
      if (join.probe === stage) return [no];
      if (join.stage !== stage) return [];
      const inputs = this.#stage(join.probe).fragment.inputs.map((input) => input.stage);
      const filter = filters.no(join.probe);
      const read = inputs.flatMap((id) => this.#numbers(id));
      return [no, ...read, ...(filter === null ? [] : [filter])];
    });
  }

  #numbers(id: number): readonly number[] {
    const first = this.#options.firsts[id] ?? 0;
    return Array.from({ length: this.#stage(id).tasks }, (_, at) => first + at);
  }

  /** The input of the task that decides, and the numbers of those that it depends on. */
  decision(join: AdaptiveJoin): {
    readonly numbers: readonly number[];
    readonly input: JsonObject;
  } {
    const { stage, build, probe, thresholdBytes, probeBytes } = join;
    const { estimate, tasks } = this.#stage(build);
    const { output, tasks: probeTasks } = this.#stage(probe);
    const producers = Array.from({ length: tasks }, (_, at) => fragmentTaskId(build, at));
    const at = (this.#options.plan.joins ?? []).indexOf(join);
    const input: Record<keyof JoinTask, Json> = {
      join: { stage, build, probe, thresholdBytes, probeBytes },
      rowBytes: (estimate.bytes ?? 0) / Math.max(1, estimate.rows ?? 1),
      tasks: probeTasks,
      outputs: output.kind === 'hash' || output.kind === 'range' ? output.partitions : 1,
      layout: { $from: producers[0] as string, path: '/at/layout' },
      parts: producers.map(($from) => ({ $from, path: '/parts' })),
      fragments: {
        broadcast: { $from: PLAN_TASK, path: `/joins/${at}/fragment` },
        shuffled: { $from: PLAN_TASK, path: `/stages/${stage}/fragment` },
      },
    };
    return { numbers: [0, ...this.#numbers(build)], input };
  }

  /**
   * The input of a task that runs one of two fragments. What only one of them reads is in a list that is empty for the
   * other: so it is neither fetched nor counted.
   */
  either(stage: Stage, task: number, input: JsonObject): JsonObject {
    const join = this.#of(stage.id);
    if (join === null) return input;
    const $from = joinTaskId(stage.id);
    const when = (list: 'probe' | 'shuffled' | 'all', each: readonly Json[]): Json => ({
      ...{ $from, path: `/${list}` },
      each,
    });
    const reads: Record<string, Json> = { ...(input['reads'] as JsonObject) };
    for (const { relation, mode } of stage.fragment.inputs) {
      const list = reads[relation];
      // Of grouped partitions none is read either.
      if (mode === 'partition' && Array.isArray(list)) reads[relation] = when('shuffled', list);
    }
    const probe = this.#stage(join.probe);
    for (const { relation, stage: id } of probe.fragment.inputs)
      reads[relation] ??= when('probe', this.#all(id, 0));
    reads[join.relation] = when('all', this.#all(join.build, null));
    const version = versionOf([stage, { fragment: join.fragment, output: stage.output }]);
    return {
      ...input,
      // Where partitions may be split it is decided later, and both fragments were counted there.
      ...(version === 2 || typeof input['version'] === 'object' ? {} : { version }),
      fragment: { $from, path: '/fragment' },
      ...this.#tables(probe, task, input, when),
      reads,
      ...(this.#options.filters.no(stage.id) === null
        ? this.#options.filters.fields(probe.id, 'filters')
        : {}),
    };
  }

  /** Of each task of a stage: one partition, or that of the list. */
  #all(id: number, partition: number | null): readonly Json[] {
    return Array.from({ length: this.#stage(id).tasks }, (_, at) => {
      const $from = fragmentTaskId(id, at);
      return {
        at: { $from, path: '/at' },
        partition: partition ?? { $item: true },
        part: { $from, path: `/parts/${partition ?? '*'}` },
      };
    });
  }

  #tables(
    probe: Stage,
    task: number,
    { ranges, spans }: JsonObject,
    when: (list: 'probe', each: readonly Json[]) => Json,
  ): JsonObject {
    const scans = this.#scans.get(probe.id) ?? this.#options.scans(probe);
    this.#scans.set(probe.id, scans);
    const own = probe.fragment.scans.map(({ relation }, at) => ({
      relation,
      ...scans[at]?.[task],
    }));
    const split = own.filter(({ span }) => span !== undefined);
    return {
      ranges: {
        ...(ranges as JsonObject),
        ...Object.fromEntries(
          own.map(({ relation, ranges: list = [] }) => [
            relation,
            when('probe', list as unknown as readonly Json[]),
          ]),
        ),
      },
      ...(split.length === 0
        ? {}
        : {
            spans: {
              ...((spans ?? {}) as JsonObject),
              ...Object.fromEntries(
                split.map(({ relation, span }) => [relation, span as unknown as Json]),
              ),
            },
          }),
    };
  }
}
