/** The operators of a stage as text for EXPLAIN: one line per operator, outermost first, indented by depth. */
import { assertNever } from '../../../scheduler/core/index.ts';
import type { AggregateCall, Expression, OrderBy } from '../logical/expression.ts';
import type { Aggregate, Join, JoinCondition, Relation } from '../logical/relation.ts';
import { inputsOf } from '../logical/walk.ts';
import { printAggregate, printExpression, printWindow } from '../sql/expression.ts';
import type { Draft, DraftStage, Leaf } from './draft.ts';
import { eachRelation } from './relations.ts';

const LINE_MAX = 150;
const LABEL_MAX = 48;

/** Column names for each relation, as far as columns have names. */
export class Labels {
  readonly #draft: Draft;
  /** Cached, because a relation that is read twice and itself reads another one twice would be visited four times. */
  readonly #known = new Map<Relation, readonly string[]>();
  readonly #commons = new Map<number, Relation>();

  constructor(draft: Draft) {
    this.#draft = draft;
    for (const { relation } of draft.stages)
      for (const each of eachRelation(relation))
        if (each.kind === 'with') this.#commons.set(each.cte, each.definition);
  }

  /** A letter for a CTE that is computed once and read several times. */
  letterOf(cte: number): string {
    return letters([...this.#commons.keys()].indexOf(cte));
  }

  of(relation: Relation): readonly string[] {
    const known = this.#known.get(relation);
    if (known !== undefined) return known;
    const labels = this.#made(relation);
    this.#known.set(relation, labels);
    return labels;
  }

  #made(relation: Relation): readonly string[] {
    switch (relation.kind) {
      case 'input':
        return this.#ofLeaf(this.#draft.leaves.get(relation.relation), relation);
      case 'project':
        return this.texts(relation.expressions, relation.input).map(short);
      case 'filter':
      case 'distinct':
      case 'sort':
      case 'topN':
      case 'limit':
        return this.of(relation.input);
      case 'aggregate': {
        const columns = this.of(relation.input);
        const groups = this.texts(relation.groups, relation.input);
        const isMerge = [...this.#draft.partials.values()].includes(relation);
        const calls = relation.calls.map((call) => {
          const [first] = call.args;
          // The merge of partial sums has the name of the sum.
          const isMerged = isMerge && !call.distinct && first?.kind === 'column';
          return isMerged ? (columns[first.index] ?? '') : aggregateText(call, columns);
        });
        return [...groups, ...calls, ...relation.grouping.map(() => 'grouping')].map(short);
      }
      case 'window':
      case 'unnest': {
        const columns = this.of(relation.input);
        const added = relation.output.slice(columns.length).map((_, at) => `new${at}`);
        return [...columns, ...added];
      }
      case 'join':
      case 'asof':
      case 'cross':
      case 'positional':
        return [...this.of(relation.left), ...this.of(relation.right), 'mark'].slice(
          0,
          relation.output.length,
        );
      case 'set':
        return relation.inputs[0] === undefined ? [] : this.of(relation.inputs[0]);
      case 'with':
        return this.of(relation.body);
      case 'ref':
        return this.of(this.#commons.get(relation.cte) ?? NOTHING);
      case 'values':
      case 'empty':
      case 'scan':
        return relation.output.map((_, at) => `c${at}`);
      default:
        return assertNever(relation);
    }
  }

  #ofLeaf(leaf: Leaf | undefined, relation: Relation): readonly string[] {
    if (leaf === undefined) return relation.output.map((_, at) => `c${at}`);
    if (leaf.kind === 'scan')
      return leaf.scan.columns.map((place) => leaf.scan.names[place ?? -1] ?? '-');
    return this.of((this.#draft.stages[leaf.stage] as DraftStage).relation);
  }

  texts(expressions: readonly Expression[], input: Relation): readonly string[] {
    const columns = this.of(input);
    return expressions.map((each) => expressionText(each, columns));
  }
}

const NOTHING: Relation = { kind: 'empty', output: [], rows: 0 };
const ALPHABET = 26;

/** A, B, ..., Z, AA, AB, ... */
function letters(place: number): string {
  const last = String.fromCodePoint(65 + (place % ALPHABET));
  return place < ALPHABET ? last : letters(Math.floor(place / ALPHABET) - 1) + last;
}

function expressionText(expression: Expression, columns: readonly string[]): string {
  return readable(printExpression(expression, (index) => columns[index] ?? `c${index}`));
}

function aggregateText(call: AggregateCall, columns: readonly string[]): string {
  return readable(printAggregate(call, (index) => columns[index] ?? `c${index}`));
}

/** Omits the types of constants, which are noise to a reader. */
function readable(text: string): string {
  return text.replaceAll(/CAST\(('(?:[^']|'')*'|-?[\d.]+) AS [A-Z ]+(?:\([\d,]+\))?\)/g, '$1');
}

function short(text: string): string {
  return clipped(text, LABEL_MAX);
}

function clipped(text: string, length: number): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length <= length ? line : `${line.slice(0, length - 3)}...`;
}

export function operatorLines(stage: DraftStage, draft: Draft, labels: Labels): readonly string[] {
  const lines: string[] = [];
  const { output } = stage;
  if (output.kind === 'hash') {
    const by = labels.texts(output.by, stage.relation).join(', ');
    lines.push(clipped(`exchange by ${by}`, LINE_MAX));
  } else if (output.kind === 'range') {
    const by = orderText(output.order, stage.relation, labels);
    lines.push(clipped(`exchange by range of ${by}`, LINE_MAX));
  }
  const add = (relation: Relation, depth: number): void => {
    if (relation.kind === 'with') {
      add(relation.body, depth);
      lines.push(`${'  '.repeat(depth)}rows ${labels.letterOf(relation.cte)}, computed once:`);
      return add(relation.definition, depth + 1);
    }
    const text = operatorText(relation, stage, draft, labels);
    if (text !== null) lines.push(`${'  '.repeat(depth)}${clipped(text, LINE_MAX)}`);
    const below = text === null ? depth : depth + 1;
    for (const input of inputsOf(relation)) add(input, below);
  };
  add(stage.relation, lines.length);
  return lines;
}

/** Returns null for operators that only rearrange columns. */
function operatorText(
  relation: Relation,
  stage: DraftStage,
  draft: Draft,
  labels: Labels,
): string | null {
  switch (relation.kind) {
    case 'input':
      return leafText(draft.leaves.get(relation.relation), stage.tasks, labels.of(relation));
    case 'project':
      if (relation.expressions.every(({ kind }) => kind === 'column')) return null;
      return `project ${labels.texts(relation.expressions, relation.input).join(', ')}`;
    case 'filter':
      if (relation.conditions.length === 0) return null;
      return `filter ${labels.texts(relation.conditions, relation.input).join(' AND ')}${phaseText(relation, draft)}`;
    case 'aggregate':
      return aggregateLine(relation, draft, labels);
    case 'join':
      return joinText(relation, labels);
    case 'asof':
      return `asof ${relation.type} join on ${conditionText(relation.conditions, relation, labels)}`;
    case 'cross':
      return 'cross join';
    case 'positional':
      return 'positional join';
    case 'set':
      return `${relation.operation}${relation.all ? ' all' : ''}`;
    case 'distinct': {
      const on =
        relation.on === null ? '' : ` on ${labels.texts(relation.on, relation.input).join(', ')}`;
      return `distinct${on}${phaseText(relation, draft)}`;
    }
    case 'window': {
      const columns = labels.of(relation.input);
      const text = (index: number): string => columns[index] ?? `c${index}`;
      return `window ${relation.calls.map((call) => readable(printWindow(call, text))).join(', ')}`;
    }
    case 'sort':
      return `sort by ${orderText(relation.order, relation.input, labels)}`;
    case 'topN': {
      const by = orderText(relation.order, relation.input, labels);
      return `first ${countText(relation)} by ${by}${phaseText(relation, draft)}`;
    }
    case 'limit':
      return `limit ${countText(relation)}${phaseText(relation, draft)}`;
    case 'unnest':
      return `unnest ${labels.texts(relation.expressions, relation.input).join(', ')}`;
    case 'values':
      return `${relation.lists.length} constant row${relation.lists.length === 1 ? '' : 's'}`;
    case 'empty':
      return 'no rows';
    case 'ref':
      return `rows ${labels.letterOf(relation.cte)}`;
    case 'scan':
    case 'with':
      return relation.kind;
    default:
      return assertNever(relation);
  }
}

function leafText(leaf: Leaf | undefined, tasks: number, columns: readonly string[]): string {
  if (leaf === undefined) return 'unknown';
  if (leaf.kind === 'scan') {
    const isShared = !leaf.isPartitioned && tasks > 1;
    const name = leaf.split === null ? '' : columns[leaf.split.column];
    const split = leaf.split === null ? '' : ` (range-partitioned by ${name})`;
    const rows = isShared ? ' (all rows in every task)' : split;
    return `scan ${leaf.table.name}${rows}: ${columns.join(', ')}`;
  }
  switch (leaf.mode) {
    case 'partition':
      return `partition of stage ${leaf.stage}`;
    case 'all':
      return `all of stage ${leaf.stage}`;
    case 'forward':
      return `forwarded from stage ${leaf.stage}`;
    default:
      return assertNever(leaf.mode);
  }
}

function aggregateLine(relation: Aggregate, draft: Draft, labels: Labels): string {
  const made = labels.of(relation);
  const groups = made.slice(0, relation.groups.length);
  const calls = made.slice(groups.length, groups.length + relation.calls.length);
  const sets = relation.sets.length > 1 ? ` in ${relation.sets.length} grouping sets` : '';
  const by = groups.length === 0 ? '' : ` by ${groups.join(', ')}`;
  const results = calls.length === 0 ? '' : `: ${calls.join(', ')}`;
  return `aggregate${phaseText(relation, draft)}${by}${sets}${results}`;
}

function phaseText(relation: Relation, draft: Draft): string {
  if (draft.partials.has(relation)) return ' (partial)';
  return [...draft.partials.values()].includes(relation) ? ' (final)' : '';
}

function joinText(join: Join, labels: Labels): string {
  const on = conditionText(join.conditions, join, labels);
  const columns = [...labels.of(join.left), ...labels.of(join.right)];
  const more = join.predicate === null ? '' : expressionText(join.predicate, columns);
  const text = [on, more].filter((each) => each !== '').join(' AND ');
  return `${join.type} join${text === '' ? '' : ` on ${text}`}`;
}

function conditionText(
  conditions: readonly JoinCondition[],
  { left, right }: { readonly left: Relation; readonly right: Relation },
  labels: Labels,
): string {
  const lefts = labels.of(left);
  const rights = labels.of(right);
  return conditions
    .map(
      (each) =>
        `${expressionText(each.left, lefts)} ${each.comparison} ${expressionText(each.right, rights)}`,
    )
    .join(' AND ');
}

function orderText(order: readonly OrderBy[], input: Relation, labels: Labels): string {
  const columns = labels.of(input);
  return order
    .map(
      ({ expression, descending }) =>
        `${short(expressionText(expression, columns))}${descending ? ' desc' : ''}`,
    )
    .join(', ');
}

function countText({ limit, offset }: { limit: number | null; offset: number }): string {
  const count = limit === null ? 'none' : String(limit);
  return offset === 0 ? count : `${count} after ${offset}`;
}

/** A short title: what the stage reads and what it does, in that order. */
export function stageTitle(stage: DraftStage, draft: Draft): string {
  const tables: string[] = [];
  const steps: string[] = [];
  const visit = (relation: Relation): void => {
    for (const input of inputsOf(relation)) visit(input);
    const leaf = relation.kind === 'input' ? draft.leaves.get(relation.relation) : undefined;
    if (leaf?.kind === 'scan' && !tables.includes(leaf.table.name)) tables.push(leaf.table.name);
    const step = stepName(relation);
    if (step !== null && steps.at(-1) !== step) steps.push(step);
  };
  visit(stage.relation);
  const scan = tables.length === 0 ? [] : [`scan ${tables.join(', ')}`];
  const words = [...scan, ...steps];
  return words.length === 0 ? 'pass through' : words.join(', ');
}

function stepName(relation: Relation): string | null {
  switch (relation.kind) {
    case 'aggregate':
    case 'distinct':
    case 'window':
    case 'sort':
    case 'unnest':
    case 'limit':
      return relation.kind;
    case 'join':
    case 'cross':
    case 'asof':
    case 'positional':
      return 'join';
    case 'topN':
      return 'top rows';
    case 'set':
      return relation.operation;
    case 'scan':
    case 'input':
    case 'values':
    case 'empty':
    case 'project':
    case 'filter':
    case 'with':
    case 'ref':
      return null;
    default:
      return assertNever(relation);
  }
}
