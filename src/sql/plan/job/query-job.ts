/**
 * Turns a query into a job. The first task, `plan`, never runs: it is created as succeeded, with the plan as its
 * result, and every other task takes its fragment from there. A task takes the locations of its inputs from the
 * results of the producing tasks in the same way, so it only ever reads committed outputs.
 */
import {
  FRAGMENT_EXECUTOR,
  MillraceError,
  FILTER_EXECUTOR,
  GROUPS_EXECUTOR,
  JOIN_EXECUTOR,
  filterTaskId,
  fragmentTaskId,
  groupsTaskId,
  invariant,
  joinTaskId,
  operatorExecutor,
  taskNo,
  utf8Bytes,
  type Dependency,
  type Json,
  NO_JOB_OPTIONS,
  type JobDocument,
  type JsonObject,
  type Placement,
  type Priority,
  type RetryPolicy,
  type Seed,
  type Settings,
  type TaskDocument,
  type TaskId,
  type TaskNo,
  type TaskOptions,
  type Timeouts,
} from '../../../scheduler/core/index.ts';
import { groupingTasks } from '../adapt/coalesced-stages.ts';
import type { ExchangeInput, QueryPlan, Stage } from '../physical/plan.ts';
import { versionOf } from '../physical/plan.ts';
import type { PinnedTable } from '../physical/table.ts';
import { PLAN_EXECUTOR, PLAN_TASK } from '../physical/task.ts';
import { FilterWriter } from './filter-writer.ts';
import { decidedFields, groupReads, groupingInput } from './grouping-task.ts';
import { jobName } from './job-name.ts';
import { JoinWriter } from './join-writer.ts';
import { type TaskScan, isTopOfShare, mayBeFew, taskScans } from './task-scans.ts';

export interface QueryJobOptions {
  /** Null: the beginning of the SQL text. */
  readonly name: string | null;
  readonly priority: Priority;
  readonly idempotencyKey: string | null;
  /** Including the first attempt; null for the default. */
  readonly maxAttempts: number | null;
  /** When a task is started a second time; null for the default, 0 for never. */
  readonly stragglerFactor: number | null;
  readonly timeoutMs: number | null;
  /** For DuckDB in each task; null for the node's share per slot. */
  readonly memoryBytes: number | null;
  /** See `FragmentTask`. */
  readonly scope: string | null;
  /** The cluster memory that the query needs to be admitted; null to derive it from `memoryBytes`. */
  readonly admissionBytes: number | null;
  readonly maxParallel: number;
  /** Processors of the cluster that its fragments share; null if not known. */
  readonly processors: number | null;
  /** The plan was made here, so it is known that its stages do not depend on how rows are spread over tasks. */
  readonly isOwnPlan: boolean;
}

export const QUERY_JOB_DEFAULTS: QueryJobOptions = {
  name: null,
  priority: 2,
  idempotencyKey: null,
  maxAttempts: null,
  stragglerFactor: null,
  timeoutMs: null,
  memoryBytes: null,
  scope: null,
  admissionBytes: null,
  maxParallel: 32,
  processors: null,
  isOwnPlan: false,
};

export interface QueryJob {
  readonly document: JobDocument;
  readonly seeds: ReadonlyMap<TaskNo, Seed>;
}

/**
 * `tables` are those that the plan's scans name. Throws `bad_input` if one is missing, and `too_large` if the job
 * exceeds a limit of the scheduler.
 */
export function queryJob(
  plan: QueryPlan,
  tables: readonly PinnedTable[],
  settings: Settings,
  options: QueryJobOptions = QUERY_JOB_DEFAULTS,
): QueryJob {
  const planText = JSON.stringify(plan);
  checkSize('plan', planText, settings.resultBytesMax);
  const writer = new TaskWriter(plan, tables, settings, options);
  const tasks = [
    writer.planTask(),
    ...plan.stages.flatMap((stage) => writer.stageTasks(stage)),
    ...writer.groupingTasks(),
    ...writer.filterTasks(),
    ...writer.joinTasks(),
  ];
  if (tasks.length > settings.tasksPerJobMax)
    tooLarge(`It has ${tasks.length} tasks, ${settings.tasksPerJobMax} are allowed.`);
  const document: JobDocument = {
    name: options.name ?? jobName(plan.sql),
    priority: options.priority,
    idempotencyKey: options.idempotencyKey,
    maxParallel: options.maxParallel,
    onFailure: 'cancel',
    totalMs: options.timeoutMs,
    labels: [],
    runAt: null,
    options: NO_JOB_OPTIONS,
    output: JSON.stringify(resultTemplate(plan)),
    tasks,
  };
  return { document, seeds: new Map([[taskNo(0), { state: 'succeeded', result: planText }]]) };
}

function resultTemplate({ stages }: QueryPlan): Json {
  const last = stages.at(-1);
  invariant(last !== undefined, 'a plan without stages');
  return {
    columns: fromPlan('/columns'),
    parts: Array.from({ length: last.tasks }, (_, task) => ({
      $from: fragmentTaskId(last.id, task),
    })),
  };
}

function fromPlan(path: string): JsonObject {
  return { $from: PLAN_TASK, path };
}

const NONE: readonly never[] = [];
const NEVER: Timeouts = { queueMs: null, runMs: null, totalMs: null };

class TaskWriter {
  readonly #plan: QueryPlan;
  readonly #tables: ReadonlyMap<string, PinnedTable>;
  readonly #settings: Settings;
  readonly #options: QueryJobOptions;
  /** The number of each stage's first task. */
  readonly #firsts: readonly number[];
  /** The number of the task that decides which partitions the tasks of a stage read, by stage. */
  readonly #groupings: ReadonlyMap<number, number>;
  readonly #filters: FilterWriter;
  readonly #joins: JoinWriter;

  constructor(
    plan: QueryPlan,
    tables: readonly PinnedTable[],
    settings: Settings,
    options: QueryJobOptions,
  ) {
    this.#plan = plan;
    this.#tables = new Map(tables.map((table) => [table.name, table]));
    this.#settings = settings;
    this.#options = options;
    let next = 1;
    this.#firsts = plan.stages.map(({ tasks }) => {
      next += tasks;
      return next - tasks;
    });
    this.#groupings = new Map(groupingTasks(plan).map(({ no, stage }) => [stage, no]));
    this.#filters = new FilterWriter(plan, this.#firsts);
    const scans = (stage: Stage): readonly (readonly TaskScan[])[] => this.#scans(stage);
    this.#joins = new JoinWriter({ plan, firsts: this.#firsts, filters: this.#filters, scans });
  }

  planTask(): TaskDocument {
    const { memoryBytes, admissionBytes, maxParallel } = this.#options;
    const widest = Math.max(...this.#plan.stages.map(({ tasks }) => tasks));
    const asked = admissionBytes ?? (memoryBytes ?? 0) * Math.min(widest, maxParallel);
    return {
      id: PLAN_TASK as TaskId,
      executor: PLAN_EXECUTOR,
      priority: this.#options.priority,
      parent: null,
      dependsOn: NONE,
      idempotencyKey: null,
      options: { ...this.#optionsFor(false, NONE), admission: { memoryBytes: asked } },
      input: null,
    };
  }

  stageTasks(stage: Stage): readonly TaskDocument[] {
    const { fragment } = this.#joins.probeOf(stage.id) ?? stage;
    const reads = [stage.fragment, fragment].some(
      ({ scans: own, tables }) => own.length + tables.length > 0,
    );
    const options: TaskOptions = {
      ...this.#optionsFor(reads, stage.requires.map(operatorExecutor)),
      output: stage.nonDeterministic === null ? 'deterministic' : 'non-deterministic',
      ...this.#stragglers(stage),
    };
    const scans = this.#scans(stage);
    return Array.from({ length: stage.tasks }, (_, task) => {
      const own = this.#input(stage, task, scans);
      const input = JSON.stringify(this.#joins.either(stage, task, own));
      checkSize(`input of task s${stage.id}.${task}`, input, this.#settings.inputBytesMax);
      return {
        id: fragmentTaskId(stage.id, task),
        executor: FRAGMENT_EXECUTOR,
        priority: this.#options.priority,
        parent: null,
        dependsOn: this.#dependencies(stage, task),
        idempotencyKey: null,
        options,
        input,
      };
    });
  }

  #scans({ fragment, tasks }: Stage): readonly (readonly TaskScan[])[] {
    return fragment.scans.map((scan) => taskScans(this.#tables, scan, tasks));
  }

  /** They never run: the leader completes them, from what the producers of the stage have written. */
  groupingTasks(): readonly TaskDocument[] {
    const { processors } = this.#options;
    return [...this.#groupings.keys()].map((id) => {
      const stage = this.#plan.stages[id] as Stage;
      const inputs = stage.fragment.inputs.filter(({ mode }) => mode === 'partition');
      const numbers = [
        ...inputs.flatMap((each) => this.#numbers(each, 0)),
        ...this.#joins.tasks.flatMap((task) => (task.stage === id ? task.no : [])),
      ];
      const input = groupingInput(this.#plan, stage, processors);
      return this.#decision(groupsTaskId(id), GROUPS_EXECUTOR, numbers, input);
    });
  }

  /** The same, from the keys that the tasks of other stages have reported. */
  filterTasks(): readonly TaskDocument[] {
    return this.#filters.tasks.map(({ stage }) => {
      const { numbers, input } = this.#filters.decision(stage);
      return this.#decision(filterTaskId(stage), FILTER_EXECUTOR, numbers, input);
    });
  }

  /** The same, from the size of one side of a join. */
  joinTasks(): readonly TaskDocument[] {
    return this.#joins.tasks.map(({ stage, join }) => {
      const { numbers, input } = this.#joins.decision(join);
      return this.#decision(joinTaskId(stage), JOIN_EXECUTOR, numbers, input);
    });
  }

  #decision(id: TaskId, executor: string, numbers: readonly number[], input: Json): TaskDocument {
    return {
      id,
      executor,
      priority: this.#options.priority,
      parent: null,
      dependsOn: numbered(new Set(numbers)),
      idempotencyKey: null,
      options: this.#optionsFor(false, NONE),
      input: JSON.stringify(input),
    };
  }

  /** What users have written is not run twice at the same time, whatever it says of itself. */
  #stragglers({ requires }: Stage): Pick<TaskOptions, 'stragglerFactor'> {
    const factor = requires.length > 0 ? 0 : this.#options.stragglerFactor;
    return factor === null ? {} : { stragglerFactor: factor };
  }

  #optionsFor(readsTables: boolean, executors: readonly string[]): TaskOptions {
    const { maxAttempts, backoffMs, maxBackoffMs, maxLosses } = this.#settings;
    const retry: RetryPolicy = {
      maxAttempts: this.#options.maxAttempts ?? maxAttempts,
      backoffMs,
      maxBackoffMs,
      maxLosses,
    };
    const { duckdb, roots } = this.#plan;
    const needsRoots = readsTables && roots.length > 0;
    const placement: Placement = {
      executors,
      executorsAny: NONE,
      capabilities: needsRoots ? { duckdb, roots } : { duckdb },
      allowedNodes: null,
      forbiddenNodes: NONE,
      maxParallelPerNode: null,
    };
    return { retry, timeouts: NEVER, placement, concurrency: null, limits: NONE };
  }

  #input(stage: Stage, task: number, scans: readonly (readonly TaskScan[])[]): JsonObject {
    const { id, tasks, fragment } = stage;
    const own = fragment.scans.map(({ relation }, at) => ({ relation, ...scans[at]?.[task] }));
    const spans = own.filter(({ span }) => span !== undefined);
    const reads = fragment.inputs.map((input) => [
      input.relation,
      this.#groupings.has(id) && input.mode === 'partition'
        ? groupReads(input, stage, task, this.#producers(input, task))
        : this.#reads(input, task),
    ]);
    const byRelation = <T>(entries: readonly (readonly [string, T])[]): Json =>
      Object.fromEntries(entries) as Json;
    const version = versionOf([stage]);
    return {
      ...(version === 2 ? {} : { version }),
      stage: id,
      task,
      fragment: fromPlan(`/stages/${id}/fragment`),
      output: fromPlan(`/stages/${id}/output`),
      session: fromPlan('/session'),
      ...(this.#options.isOwnPlan && isTopOfShare(stage, own) ? { byRange: true } : {}),
      ranges: byRelation(own.map(({ relation, ranges = [] }) => [relation, ranges])),
      ...(spans.length === 0
        ? {}
        : { spans: byRelation(spans.map(({ relation, span }) => [relation, span])) }),
      reads: Object.fromEntries(reads) as Json,
      ...this.#filters.fields(id),
      requires: fromPlan(`/stages/${id}/requires`),
      memoryBytes: this.#options.memoryBytes,
      ...(this.#options.scope === null ? {} : { scope: this.#options.scope }),
      ...(mayBeFew(stage) ? { rowsAlone: true } : {}),
      ...(this.#groupings.has(id) ? decidedFields(stage) : this.#share(tasks)),
    };
  }

  /** A stage of one task may use all processors of its node. */
  #share(tasks: number): { readonly threads?: number } {
    const { processors } = this.#options;
    if (processors === null || tasks === 1) return {};
    return { threads: Math.max(1, Math.floor(processors / tasks)) };
  }

  #reads(input: ExchangeInput, task: number): Json {
    const partition = input.mode === 'partition' ? task : 0;
    return this.#producers(input, task).map((producer) => {
      const $from = fragmentTaskId(input.stage, producer);
      return {
        at: { $from, path: '/at' },
        partition,
        part: { $from, path: `/parts/${partition}` },
      };
    });
  }

  /** The producer tasks that one task reads. */
  #producers({ stage, mode }: ExchangeInput, task: number): readonly number[] {
    const made = this.#plan.stages[stage];
    invariant(made !== undefined, `stage ${stage} is not in the plan`);
    return mode === 'forward' ? [task] : Array.from({ length: made.tasks }, (_, at) => at);
  }

  #dependencies({ id, fragment }: Stage, task: number): readonly Dependency[] {
    const numbers = new Set([0]);
    for (const input of fragment.inputs)
      for (const no of this.#numbers(input, task)) numbers.add(no);
    const grouping = this.#groupings.get(id);
    if (grouping !== undefined) numbers.add(grouping);
    const filter = this.#filters.no(id);
    if (filter !== null) numbers.add(filter);
    for (const no of this.#joins.waitsFor(id)) numbers.add(no);
    return numbered(numbers);
  }

  /** Of the producer tasks that one task reads. */
  #numbers(input: ExchangeInput, task: number): readonly number[] {
    const first = this.#firsts[input.stage] as number;
    return this.#producers(input, task).map((producer) => first + producer);
  }
}

function numbered(numbers: ReadonlySet<number>): readonly Dependency[] {
  return [...numbers].toSorted((a, b) => a - b).map((no) => ({ no: taskNo(no), required: true }));
}

function checkSize(what: string, text: string, bytesMax: number): void {
  const bytes = utf8Bytes(text);
  if (bytes > bytesMax) tooLarge(`The ${what} is ${bytes} bytes, ${bytesMax} are allowed.`);
}

function tooLarge(why: string): never {
  throw new MillraceError({
    code: 'too_large',
    what: 'The query is too large to be scheduled.',
    why,
    todo: 'Read fewer files, or lower shufflePartitions.',
  });
}
