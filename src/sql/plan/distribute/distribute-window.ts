/** Distributes windows: where the rows are, after an exchange by the keys of all calls, or one kind of call after the other. */
import type { Expression, WindowCall } from '../logical/expression.ts';
import type { Window } from '../logical/relation.ts';
import { unknownStats } from './column-stats.ts';
import type { DistributeContext } from './context.ts';
import { column, columnsOf, expressionKey } from './expressions.ts';
import { isPartitioned, isPartitionedOn } from './partitioning.ts';
import { project } from './relations.ts';
import { applied, repartitionBy } from './repartition.ts';
import { runningPart } from './running-window.ts';
import { distributeRunning, withWindow } from './distribute-running.ts';
import { distributeTotals, totalOf } from './distribute-totals.ts';
import { bytesOf, type Subplan } from './subplan.ts';
import { isHashable } from './types.ts';

export function distributeWindow(
  context: DistributeContext,
  relation: Window,
  input: Subplan,
): Subplan {
  const steps = windowSteps(context, relation, input);
  if (steps !== null) return inSteps(context, relation, steps, input);
  const isLocal = isWhereRowsAre(relation, input);
  const there = isLocal ? input : repartitionBy(context, input, sharedKeys(relation));
  return withWindow(there, relation.calls);
}

function isWhereRowsAre({ calls }: Window, { partitioning }: Subplan): boolean {
  return (
    !isPartitioned(partitioning) ||
    calls.every((call) => isPartitionedOn(partitioning, call.partitionBy))
  );
}

/** Of a window that is computed in several of them; null if it is a single operator over all rows of its partitions. */
export function windowSteps(
  context: DistributeContext,
  relation: Window,
  input: Subplan,
): readonly Step[] | null {
  if (isWhereRowsAre(relation, input)) return null;
  if (sharedKeys(relation).some(({ type }) => isHashable(type))) return null;
  const steps = stepsOf(relation.calls);
  return steps !== null && pays(context, steps, input) ? steps : null;
}

/** The keys by which all calls partition. */
function sharedKeys({ calls }: Pick<Window, 'calls'>): readonly Expression[] {
  const [first, ...others] = calls.map(({ partitionBy }) => partitionBy);
  const texts = others.map((each) => new Set(each.map(expressionKey)));
  return (first ?? []).filter((key) => texts.every((each) => each.has(expressionKey(key))));
}

/** Calls that are computed together, by their places in the window. */
interface Step {
  readonly kind: 'total' | 'running' | 'partitioned';
  readonly places: readonly number[];
}

/** Null if a call needs all rows in one task. */
function stepsOf(calls: readonly WindowCall[]): readonly Step[] | null {
  const steps = new Map<string, { kind: Step['kind']; places: number[] }>();
  for (const [at, call] of calls.entries()) {
    const kind = kindOf(call);
    if (kind === null) return null;
    const by = kind === 'partitioned' ? call.partitionBy : kind === 'running' ? call.orderBy : [];
    const key = `${kind} ${JSON.stringify(by)}`;
    const step = steps.get(key) ?? { kind, places: [] };
    steps.set(key, step);
    step.places.push(at);
  }
  return [...steps.values()];
}

function kindOf(call: WindowCall): Step['kind'] | null {
  if (call.partitionBy.length > 0)
    return call.partitionBy.some(({ type }) => isHashable(type)) ? 'partitioned' : null;
  if (totalOf(call) !== null) return 'total';
  return runningPart(call) === null ? null : 'running';
}

/** Rows that one task takes in at once are gathered; so are those that one task sorts sooner than they are exchanged. */
function pays({ settings }: DistributeContext, steps: readonly Step[], input: Subplan): boolean {
  const isSorted = steps.some(({ kind }) => kind === 'running');
  return bytesOf(input) > (isSorted ? settings.sortThresholdBytes : settings.gatherBytes);
}

/** Each step adds its columns; a projection puts them into the order of the calls. */
function inSteps(
  context: DistributeContext,
  { calls, rows }: Window,
  steps: readonly Step[],
  input: Subplan,
): Subplan {
  let made = input;
  for (const { kind, places } of steps) {
    const own = places.map((at) => calls[at] as WindowCall);
    const output = [...made.relation.output, ...own.map(({ type }) => type)];
    const window: Window = { kind: 'window', input: made.relation, calls: own, output, rows };
    if (kind === 'total') made = distributeTotals(context, window, made);
    else if (kind === 'running') made = distributeRunning(context, window, made);
    else made = distributeWindow(context, window, made);
  }
  const width = input.relation.output.length;
  const order = steps.flatMap(({ places }) => places);
  const chosen = [
    ...columnsOf(input.relation.output),
    ...calls.map(({ type }, at) => column(width + order.indexOf(at), type)),
  ];
  const columns = chosen.map((each) =>
    each.kind === 'column'
      ? (made.columns[each.index] ?? unknownStats(each.type))
      : unknownStats(each.type),
  );
  return applied(project(made.relation, chosen), made, { columns });
}
