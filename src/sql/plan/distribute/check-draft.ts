/**
 * Proves that a plan is correct: for every stage it derives again, from the leaves up, how rows are partitioned, and
 * checks that each operator may run on rows partitioned that way. It shares the rules for joins and keys with the
 * pass that made the plan, but none of its decisions. A plan that fails is a bug.
 */
import { MillraceError, assertNever, invariant } from '../../../scheduler/core/index.ts';
import type { AggregateCall, Expression } from '../logical/expression.ts';
import { hasRepeatedGroups } from '../logical/read-aggregate.ts';
import type { Filter, Relation } from '../logical/relation.ts';
import { scanPartitioning, type Draft, type DraftStage } from './draft.ts';
import { checkAsOf, checkCross, checkJoin } from './check-join.ts';
import { rankFilter } from './distribute-ranked.ts';
import { sampleNonDeterminism } from './distribute-sort.ts';
import { checkRangeOutput, isSorted } from './check-sort.ts';
import { column, expressionKey } from './expressions.ts';
import { inputsOf } from '../logical/walk.ts';
import { partialAggregate } from './partial-aggregate.ts';
import {
  RANDOM,
  REPLICATED,
  areCoPartitioned,
  hashPartitionedBy,
  isPartitioned,
  isOrderedBy,
  isPartitionedOn,
  throughProjection,
  type Partitioning,
} from './partitioning.ts';
import {
  aggregateNonDeterminism,
  orderNonDeterminism,
  windowNonDeterminism,
} from './determinism.ts';

/** What is known about a relation in a stage with several tasks. */
export interface Known {
  readonly partitioning: Partitioning;
  /** Final operators further up that must complete what partial operators have begun. */
  readonly open: ReadonlySet<Relation>;
}

const NOTHING_OPEN: ReadonlySet<Relation> = new Set();

/** Throws `invariant` if the plan could return wrong rows, or rows in another order than the one asked for. */
export function checkDraft(draft: Draft, isOrdered = false): void {
  const checked: Known[] = [];
  for (const stage of draft.stages) checked.push(new StageCheck(draft, stage, checked).run());
  const last = draft.stages.at(-1);
  invariant(last?.output.kind === 'result', 'the last stage has no result');
  invariant(
    !isOrdered || last.tasks === 1 || isSorted(last.relation),
    'the tasks of an ordered result do not sort it',
  );
  invariant(checked.at(-1)?.open.size === 0, 'the result is only partial');
  for (const { id, output } of draft.stages.slice(0, -1))
    invariant(output.kind !== 'result', `stage ${id} has a result and is not the last`);
}

/** Throws `invariant` if a stage could return wrong rows; `before` is what was found of the stages before it. */
export class StageCheck {
  readonly #draft: Draft;
  readonly #stage: DraftStage;
  readonly #before: readonly Known[];
  /** Leaves that are taken to be partitioned in another way than they are. */
  readonly #instead: ReadonlyMap<string, Partitioning>;
  /** The stage has one task. */
  readonly #isOne: boolean;
  /** CTEs that this stage computes once and reads several times. */
  readonly #commons = new Map<number, Known>();

  constructor(
    draft: Draft,
    stage: DraftStage,
    before: readonly Known[],
    instead: ReadonlyMap<string, Partitioning> = new Map(),
  ) {
    this.#draft = draft;
    this.#stage = stage;
    this.#before = before;
    this.#instead = instead;
    this.#isOne = stage.tasks === 1;
  }

  run(): Known {
    const { tasks, relation, id } = this.#stage;
    invariant(tasks === 1 || tasks === this.#draft.partitions, `stage ${id} has ${tasks} tasks`);
    const known = this.#check(relation);
    if (!this.#isOne && !isPartitioned(known.partitioning))
      this.#refuse(relation, 'its rows would come out of every task');
    checkRangeOutput(this.#draft, this.#stage, (why) => this.#refuse(relation, why));
    return known;
  }

  #refuse(relation: Relation, why: string): never {
    const what = `invariant broken: stage ${this.#stage.id}, ${relation.kind}: ${why}`;
    throw new MillraceError({ code: 'invariant', what });
  }

  #check(relation: Relation): Known {
    if (relation.kind === 'input') return this.#leaf(relation.relation, relation);
    if (relation.kind === 'with') {
      this.#commons.set(relation.cte, this.#check(relation.definition));
      return this.#check(relation.body);
    }
    if (relation.kind === 'ref') {
      const made = this.#commons.get(relation.cte);
      return made ?? this.#refuse(relation, `reads ${relation.cte}, which is not computed here`);
    }
    const later = this.#draft.partials.get(relation);
    if (relation.kind === 'filter' && later !== undefined) return this.#ranked(relation, later);
    const inputs = inputsOf(relation).map((input) => this.#check(input));
    const open = new Set(inputs.flatMap((input) => [...input.open]));
    open.delete(relation);
    // The rank that a final filter bounds is computed from what the partial filters have left.
    const isRank = [...open].every((each) => each.kind === 'filter' && each.input === relation);
    if (open.size > 0 && relation.kind !== 'project' && !isRank)
      this.#refuse(relation, 'its input is only partial');
    this.#checkStable(relation, inputs);
    if (relation.kind === 'aggregate') this.#checkSets(relation);
    const partitionings = inputs.map(({ partitioning }) => partitioning);
    if (later === undefined) return { partitioning: this.#whole(relation, partitionings), open };
    open.add(later);
    return { partitioning: this.#half(relation, partitionings), open };
  }

  /** A partial filter on a rank may drop what the final filter would drop as well, and nothing else. */
  #ranked(relation: Filter, later: Relation): Known {
    const own = rankFilter(relation);
    const final = later.kind === 'filter' ? rankFilter(later) : null;
    if (own === null || final === null || relation.input.kind !== 'window')
      return this.#refuse(relation, 'has no partial form');
    if (JSON.stringify(own.call) !== JSON.stringify(final.call) || final.bound > own.bound)
      this.#refuse(relation, 'drops rows that the final filter would keep');
    if (relation.conditions.length > 1) this.#refuse(relation, 'drops rows before they are ranked');
    const known = this.#check(relation.input.input);
    if (known.open.size > 0) this.#refuse(relation, 'its input is only partial');
    this.#checkStable(relation.input, [known]);
    return { ...known, open: new Set([later]) };
  }

  #leaf(name: string, relation: Relation): Known {
    const leaf = this.#draft.leaves.get(name);
    if (leaf === undefined) return this.#refuse(relation, `there is no relation ${name}`);
    if (leaf.kind === 'scan') return { partitioning: scanPartitioning(leaf), open: NOTHING_OPEN };
    const made = this.#draft.stages[leaf.stage];
    const known = this.#before[leaf.stage];
    if (made === undefined || known === undefined)
      return this.#refuse(relation, `reads stage ${leaf.stage} before it exists`);
    const { open } = known;
    const instead = this.#instead.get(name);
    if (instead !== undefined) return { partitioning: instead, open };
    const output = made.output.kind;
    switch (leaf.mode) {
      case 'partition':
        if (this.#stage.tasks !== this.#draft.partitions)
          this.#refuse(relation, 'one task reads one of several partitions');
        if (made.output.kind === 'hash')
          return { partitioning: hashPartitionedBy(made.output.by), open };
        if (made.output.kind === 'range') {
          const { order, by } = made.output;
          return { partitioning: { kind: 'ordered', order, by }, open };
        }
        return this.#refuse(relation, `partitions of ${output}`);
      case 'all':
        if (output !== 'whole') this.#refuse(relation, `all of ${output}`);
        return { partitioning: REPLICATED, open };
      case 'forward':
        if (output !== 'whole') this.#refuse(relation, `forward of ${output}`);
        if (made.tasks !== this.#stage.tasks) this.#refuse(relation, 'forward to other tasks');
        return { partitioning: known.partitioning, open };
      default:
        return assertNever(leaf.mode);
    }
  }

  /**
   * The SQL of a stage refers to groups by their text, so a grouping set cannot contain just one of two equal groups.
   */
  #checkSets(relation: Extract<Relation, { kind: 'aggregate' }>): void {
    if (relation.sets.length > 1 && hasRepeatedGroups(relation.groups))
      this.#refuse(relation, 'grouping sets cannot tell two of its groups apart');
  }

  /** A non-deterministic operator must be marked, and must not be computed by several tasks. */
  #checkStable(relation: Relation, inputs: readonly Known[]): void {
    const reason = nonDeterminism(relation);
    if (reason === null) return;
    if (this.#stage.nonDeterministic === null) this.#refuse(relation, `not marked: ${reason}`);
    const isShared = inputs.every(({ partitioning }) => partitioning.kind === 'replicated');
    if (!this.#isOne && isShared) this.#refuse(relation, `in every task: ${reason}`);
  }

  /** A partial operator may run in each task on whatever rows are there. */
  #half(relation: Relation, [partitioning = RANDOM]: readonly Partitioning[]): Partitioning {
    if (relation.kind === 'aggregate') {
      for (const call of relation.calls) this.#checkPartial(relation, call, partitioning);
      return throughProjection(partitioning, keptGroups(relation));
    }
    if (relation.kind === 'distinct') return partitioning;
    const takesFirst = relation.kind === 'topN' || relation.kind === 'limit';
    if (!takesFirst) return this.#refuse(relation, 'has no partial form');
    if (relation.offset > 0) this.#refuse(relation, 'skips rows in every task');
    return partitioning;
  }

  #checkPartial(relation: Relation, call: AggregateCall, partitioning: Partitioning): void {
    if (partialAggregate(call) === null) this.#refuse(relation, `${call.name} has no partial form`);
    if (call.distinct && !this.#isOne && !isPartitionedOn(partitioning, call.args))
      this.#refuse(relation, `${call.name} counts a value in two tasks`);
  }

  #whole(relation: Relation, partitionings: readonly Partitioning[]): Partitioning {
    const [first = REPLICATED] = partitionings;
    if (this.#isOne) return REPLICATED;
    const isShared = partitionings.every(({ kind }) => kind === 'replicated');
    switch (relation.kind) {
      case 'values':
      case 'empty':
        return REPLICATED;
      case 'project':
        return throughProjection(first, relation.expressions);
      case 'filter':
      case 'unnest':
        return first;
      case 'aggregate':
        if (!isShared) this.#checkGroups(relation, first);
        return throughProjection(first, keptGroups(relation));
      case 'distinct': {
        const keys = relation.on ?? relation.output.map((type, at) => column(at, type));
        if (!isShared && !isPartitionedOn(first, keys))
          this.#refuse(relation, 'equal rows are in different tasks');
        return first;
      }
      case 'window':
        if (!isShared && !relation.calls.every((call) => isPartitionedOn(first, call.partitionBy)))
          this.#refuse(relation, 'rows of a window are in different tasks');
        return first;
      case 'topN':
      case 'limit':
        if (!isShared) this.#refuse(relation, 'every task would take as many rows');
        return first;
      case 'join':
        return checkJoin(relation, partitionings, (why) => this.#refuse(relation, why));
      case 'cross':
        return checkCross(relation, partitionings, (why) => this.#refuse(relation, why));
      case 'asof':
        return checkAsOf(relation, partitionings, (why) => this.#refuse(relation, why));
      case 'set':
        return this.#set(relation, partitionings);
      case 'sort':
        if (!isOrderedBy(first, relation.order))
          this.#refuse(relation, 'order is lost between tasks');
        return first;
      case 'positional':
        return this.#refuse(relation, 'order is lost between tasks');
      case 'scan':
      case 'with':
      case 'ref':
      case 'input':
        return this.#refuse(relation, 'does not belong in a stage');
      default:
        return assertNever(relation);
    }
  }

  #checkGroups(
    relation: Extract<Relation, { kind: 'aggregate' }>,
    partitioning: Partitioning,
  ): void {
    const { groups, sets } = relation;
    const each = sets.length > 0 ? sets : [groups.map((_, at) => at)];
    for (const set of each) {
      const keys = set.map((at) => groups[at] as Expression);
      if (!isPartitionedOn(partitioning, keys))
        this.#refuse(relation, 'rows of a group are in different tasks');
    }
  }

  #set(
    relation: Extract<Relation, { kind: 'set' }>,
    partitionings: readonly Partitioning[],
  ): Partitioning {
    const [first = REPLICATED, ...others] = partitionings;
    if (partitionings.every(({ kind }) => kind === 'replicated')) return REPLICATED;
    if (!partitionings.every(isPartitioned)) this.#refuse(relation, 'one input is in every task');
    const merged = others.reduce(sharedKeys, first);
    const isUnion = relation.operation === 'union' && relation.all;
    if (!isUnion && merged.kind !== 'keyed')
      this.#refuse(relation, 'equal rows are in different tasks');
    return merged;
  }
}

/** The keys by which both are partitioned, at the same positions. */
function sharedKeys(left: Partitioning, right: Partitioning): Partitioning {
  if (left.kind !== 'keyed' || right.kind !== 'keyed' || !areCoPartitioned(left, right))
    return RANDOM;
  const keys = left.keys.map((key, at) => {
    const texts = new Set(right.keys[at]?.map(expressionKey));
    return key.filter((each) => texts.has(expressionKey(each)));
  });
  return keys.every((key) => key.length > 0) ? { ...left, keys } : RANDOM;
}

/**
 * Groups that are in every grouping set. Any other group is NULL in some rows, so it is replaced by a constant that
 * equals no key.
 */
function keptGroups({
  groups,
  sets,
}: Extract<Relation, { kind: 'aggregate' }>): readonly Expression[] {
  return groups.map((group, at) =>
    sets.every((set) => set.includes(at))
      ? group
      : { kind: 'constant', sql: '<none>', type: group.type },
  );
}

function nonDeterminism(relation: Relation): string | null {
  switch (relation.kind) {
    case 'aggregate':
      return aggregateNonDeterminism(relation);
    case 'window':
      return firstOf(
        relation.calls.map((call) => windowNonDeterminism(call, relation.input.output)),
      );
    case 'distinct':
    case 'topN':
    case 'limit':
      return orderNonDeterminism(relation);
    case 'asof':
      return 'it may take any of several nearest rows';
    case 'join':
      return relation.type === 'single' && !relation.errorOnMany
        ? 'it may take any of several rows'
        : null;
    case 'project':
      return sampleNonDeterminism(relation.expressions);
    case 'scan':
    case 'input':
    case 'values':
    case 'empty':
    case 'filter':
    case 'cross':
    case 'positional':
    case 'set':
    case 'sort':
    case 'unnest':
    case 'with':
    case 'ref':
      return null;
    default:
      return assertNever(relation);
  }
}

function firstOf(reasons: readonly (string | null)[]): string | null {
  return reasons.find((reason) => reason !== null) ?? null;
}
