/**
 * Reads the input of a fragment task. The leader made it, so an invalid one is fatal: another attempt would not help.
 */
import { isObject } from '../../scheduler/core/index.ts';
import type { Json } from '../../scheduler/core/index.ts';
import { TaskFailure } from '../../tasks/executors/index.ts';
import { type FragmentTask, type PartitionRead, SPLIT_VERSION } from '../plan/index.ts';

/** Its worker is older than the leader. It goes to another one, and counts as nothing. */
class NewerPlanError extends Error {
  override readonly name = 'NewerPlanError';
  readonly code = 'missing_operator';
  readonly failure = 'missing';

  constructor(version: number) {
    super(
      `The task is of version ${version} of the plan format, and this worker runs versions up to ${SPLIT_VERSION}. Upgrade the worker.`,
    );
  }
}

export function readFragmentTask(input: Json): FragmentTask {
  const task = fields(input, 'the input');
  const { version = 2 } = task;
  whole(version, 'version');
  if (Number(version) > SPLIT_VERSION) throw new NewerPlanError(Number(version));
  const fragment = fields(task['fragment'], 'fragment');
  const output = fields(task['output'], 'output');
  fields(task['session'], 'session');
  const ranges = fields(task['ranges'], 'ranges');
  const reads = fields(task['reads'], 'reads');
  whole(task['stage'], 'stage');
  whole(task['task'], 'task');
  if (typeof fragment['sql'] !== 'string') refuse('fragment.sql is not a string');
  for (const name of ['columns', 'tables']) list(fragment[name], `fragment.${name}`);
  for (const scan of list(fragment['scans'], 'fragment.scans')) {
    const relation = String(fields(scan, 'a scan')['relation']);
    list(ranges[relation], `ranges.${relation}`);
  }
  if (task['spans'] !== undefined) checkSpans(fields(task['spans'], 'spans'), ranges);
  checkFilters(task, ranges);
  for (const each of list(fragment['inputs'], 'fragment.inputs')) {
    const relation = String(fields(each, 'an input')['relation']);
    for (const read of list(reads[relation], `reads.${relation}`)) checkRead(read);
  }
  checkPartitions(fragment['inputs'] as readonly Fields[], reads, version === SPLIT_VERSION);
  if (output['kind'] === 'hash' || output['kind'] === 'range')
    whole(output['partitions'], 'output.partitions');
  else if (output['kind'] !== 'whole' && output['kind'] !== 'result')
    refuse('output.kind is not a known kind');
  for (const name of list(task['requires'], 'requires'))
    if (typeof name !== 'string') refuse('requires has an entry that is not a string');
  const { memoryBytes, threads, scope, rowsAlone } = task;
  if (scope !== undefined && typeof scope !== 'string') refuse('scope is not a string');
  if (threads !== undefined) whole(threads, 'threads');
  if (rowsAlone !== undefined && rowsAlone !== true) refuse('rowsAlone is not true');
  if (memoryBytes !== null && memoryBytes !== undefined) whole(memoryBytes, 'memoryBytes');
  return { ...(input as unknown as FragmentTask), memoryBytes: (memoryBytes as number) ?? null };
}

/** The operators and functions of users without which it cannot run. */
export function requiredBy({ requires, fragment }: FragmentTask): readonly string[] {
  return fragment.custom === undefined ? requires : [...requires, fragment.custom.op_name];
}

/** The inputs of a task that is not here yet. What is not valid is left to the task. */
export function readEarly(text: string): readonly PartitionRead[] {
  try {
    const reads = list(JSON.parse(text), 'the list');
    for (const read of reads) {
      checkRead(read);
      whole((read as PartitionRead).part.bytes, 'part.bytes');
    }
    return reads as readonly PartitionRead[];
  } catch {
    return [];
  }
}

function checkSpans(spans: Fields, ranges: Fields): void {
  for (const [relation, span] of Object.entries(spans)) {
    const { column, from, to, mixed } = fields(span, `spans.${relation}`);
    list(mixed, `spans.${relation}.mixed`);
    if (ranges[relation] === undefined) refuse(`spans.${relation} has no scan`);
    whole(column, 'span.column');
    for (const bound of [from, to])
      if (bound !== null && !Number.isSafeInteger(bound))
        refuse('a bound of a span is not an integer');
  }
}

function checkFilters({ filters, keys, fragment }: Fields, ranges: Fields): void {
  for (const [relation, filter] of Object.entries(fields(filters ?? {}, 'filters'))) {
    if (typeof filter !== 'string') refuse(`filters.${relation} is not a string`);
    if (ranges[relation] === undefined) refuse(`filters.${relation} has no scan`);
  }
  const { length } = list(fields(fragment, 'fragment')['columns'], 'fragment.columns');
  if (keys === undefined) return;
  const { columns, tasks } = fields(keys, 'keys');
  whole(tasks, 'keys.tasks');
  for (const column of list(columns, 'keys.columns')) {
    whole(column, 'a column of keys');
    if (Number(column) >= length) refuse(`keys names column ${Number(column)}, of ${length}`);
  }
}

function checkRead(read: unknown): void {
  const { at, part, partition } = fields(read, 'a read');
  const place = fields(at, 'at');
  for (const name of ['task', 'folder', 'index', 'node']) {
    if (typeof place[name] !== 'string') refuse(`at.${name} is not a string`);
  }
  whole(place['fence'], 'at.fence');
  whole(partition, 'partition');
  list(fields(part, 'part')['segments'], 'part.segments');
}

/**
 * Rows that belong together are in the same partition of every input. A task that read other partitions of one input
 * than of another, or one of them twice, would return wrong rows without a sign of it. Where a partition is split, the
 * task does not read it from every producer of one of its inputs.
 */
function checkPartitions(inputs: readonly Fields[], reads: Fields, isSplit: boolean): void {
  const byProducer = new Map<string, number[]>();
  const byInput = new Map<string, Set<number>>();
  for (const { relation, mode } of inputs) {
    if (mode !== 'partition') continue;
    const ofInput = new Set<number>();
    byInput.set(String(relation), ofInput);
    for (const read of list(reads[String(relation)], 'reads')) {
      const { at, partition } = read as { at: { task: string }; partition: number };
      const name = `${String(relation)}/${at.task}`;
      const known = byProducer.get(name);
      if (known === undefined) byProducer.set(name, [partition]);
      else if (partition > (known.at(-1) as number)) known.push(partition);
      else refuse(`reads.${String(relation)} is not in the order of partitions`);
      ofInput.add(partition);
    }
  }
  const sets = [...byInput.values()].map((each) => String([...each].toSorted((a, b) => a - b)));
  const lists = isSplit ? sets : [...byProducer.values()].map(String);
  if (lists.some((each) => each !== lists[0])) refuse('its inputs are of different partitions');
}

type Fields = Readonly<Record<string, unknown>>;

function fields(value: unknown, what: string): Fields {
  if (isObject(value)) return value;
  return refuse(`${what} is not an object`);
}

function list(value: unknown, what: string): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : refuse(`${what} is not a list`);
}

function whole(value: unknown, what: string): void {
  if (!Number.isSafeInteger(value) || Number(value) < 0)
    refuse(`${what} is not a non-negative integer`);
}

function refuse(what: string): never {
  throw new TaskFailure('bad_input', 'fatal', `The input of the fragment is not valid: ${what}.`);
}
