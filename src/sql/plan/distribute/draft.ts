/** A plan under construction: the stages so far, and what the relation names in their fragments stand for. */
import { invariant } from '../../../scheduler/core/index.ts';
import type { Expression, OrderBy } from '../logical/expression.ts';
import type { InputRelation, Relation, ScanRelation } from '../logical/relation.ts';
import type { PinnedTable } from '../physical/table.ts';
import type { Estimate, ExchangeInput } from '../physical/plan.ts';
import type { RangePartitioning } from './range-partitioning.ts';
import { column, columnsOf } from './expressions.ts';
import { lateColumns, type LateColumns } from './late-columns.ts';
import type { Subplan } from './subplan.ts';
import { bytesOf } from './subplan.ts';
import {
  RANDOM,
  REPLICATED,
  SINGLE,
  rangePartitionedBy,
  hashPartitionedBy,
  isPartitioned,
  type Partitioning,
} from './partitioning.ts';
import { isHashable } from './types.ts';

export interface DraftStage {
  readonly id: number;
  readonly relation: Relation;
  readonly tasks: number;
  readonly output: DraftOutput;
  readonly estimate: Estimate;
  readonly nonDeterministic: string | null;
}

export type DraftOutput =
  | { readonly kind: 'hash'; readonly by: readonly Expression[] }
  /** `by` is the number of the partition. In this order, the rows of a partition come before those of the next. */
  | { readonly kind: 'range'; readonly by: Expression; readonly order: readonly OrderBy[] }
  | { readonly kind: 'whole' }
  | { readonly kind: 'result' };

/** What a leaf of a fragment reads. */
export type Leaf = ScanLeaf | StageLeaf;

export interface ScanLeaf {
  readonly kind: 'scan';
  readonly scan: ScanRelation;
  readonly table: PinnedTable;
  /** Each task reads its own rows; otherwise every task reads all of them. */
  readonly isPartitioned: boolean;
  /** The range partitioning, if rows are assigned by value. */
  readonly split: LeafRange | null;
}

export interface LeafRange {
  /** The index of the column in the scan. */
  readonly column: number;
  readonly range: RangePartitioning;
}

/** How the rows of a scan are partitioned before any operator. */
export function scanPartitioning({ scan, isPartitioned: isSplit, split }: ScanLeaf): Partitioning {
  if (!isSplit) return REPLICATED;
  if (split === null) return RANDOM;
  const type = scan.types[scan.columns[split.column] ?? 0] as Expression['type'];
  return rangePartitionedBy(column(split.column, type), split.range);
}

export interface StageLeaf {
  readonly kind: 'stage';
  readonly stage: number;
  readonly mode: ExchangeInput['mode'];
}

export class Draft {
  readonly partitions: number;
  /** Columns are added where rows arrive, rather than sent with them, if that saves so much. */
  readonly lateBytes: number;
  readonly stages: DraftStage[] = [];
  readonly leaves: Map<string, Leaf> = new Map();
  /** From each partial operator to the final operator that completes it. */
  readonly partials: Map<Relation, Relation> = new Map();
  #scans = 0;

  constructor(partitions: number, lateBytes: number = Infinity) {
    this.partitions = partitions;
    this.lateBytes = lateBytes;
  }

  /** Returns the name of the scan's relation. */
  addScan(leaf: ScanLeaf): string {
    const name = `scan${this.#scans}`;
    this.#scans += 1;
    this.leaves.set(name, leaf);
    return name;
  }

  /** Returns the name of the relation that holds the stage's rows. */
  addReading(stage: number, mode: StageLeaf['mode']): string {
    const name = leafName(stage, mode);
    this.leaves.set(name, { kind: 'stage', stage, mode });
    return name;
  }

  /** Declares that `before` runs in each task on whatever rows are there, and that `after` completes it. */
  pairPartial(before: Relation, after: Relation): void {
    this.partials.set(before, after);
  }

  /** Gathers all rows in one task. */
  gather(part: Subplan): Subplan {
    if (!isPartitioned(part.partitioning)) return part;
    return this.#read(part, this.#whole(part), 'all', SINGLE);
  }

  /** Broadcasts all rows to every task. */
  broadcast(part: Subplan): Subplan {
    if (part.partitioning.kind === 'replicated') return part;
    const late = part.stage === null ? lateColumns(this, part, []) : null;
    return this.#read(part, this.#whole(late?.part ?? part), 'all', REPLICATED, late);
  }

  /** Repartitions by the hash of these expressions. */
  repartition(part: Subplan, by: readonly Expression[]): Subplan {
    // A table that every task could read in full is still split where its rows are only sent on.
    const source = part.scan === null ? part : this.partition(part);
    const late = lateColumns(this, source, by);
    const stage = this.#close(late?.part ?? source, { kind: 'hash', by: late?.by ?? by });
    return this.#read(part, stage, 'partition', hashPartitionedBy(by), late);
  }

  /** Repartitions by a number that grows with the order. */
  repartitionInOrder(part: Subplan, by: Expression, order: readonly OrderBy[]): Subplan {
    const stage = this.#close(part, { kind: 'range', by, order });
    return this.#read(part, stage, 'partition', { kind: 'ordered', order, by });
  }

  /** Partitions in any way, so that each row is in one of N tasks. */
  partition(part: Subplan): Subplan {
    if (isPartitioned(part.partitioning)) return part;
    const leaf = part.scan === null ? undefined : this.leaves.get(part.scan);
    if (part.scan !== null && leaf?.kind === 'scan') {
      this.leaves.set(part.scan, { ...leaf, isPartitioned: true, split: null });
      return { ...part, partitioning: RANDOM, scan: null };
    }
    const by = columnsOf(part.relation.output).filter(({ type }) => isHashable(type));
    return this.repartition(part, by.length > 0 ? by : [ANY_ONE]);
  }

  /** Lets every task read the table itself, if the rows are those of one. */
  replicate(part: Subplan): Subplan {
    const leaf = part.scan === null ? undefined : this.leaves.get(part.scan);
    if (part.scan === null || leaf?.kind !== 'scan') return this.broadcast(part);
    this.leaves.set(part.scan, { ...leaf, isPartitioned: false, split: null });
    return { ...part, partitioning: REPLICATED };
  }

  /** Computes it once, for several readers. */
  materialize(part: Subplan): Subplan {
    const stage = this.#close(part, { kind: 'whole' });
    if (!isPartitioned(part.partitioning)) {
      const partitioning = part.partitioning.kind === 'replicated' ? REPLICATED : SINGLE;
      return this.#read(part, stage, 'all', partitioning);
    }
    return this.#read(part, stage, 'forward', part.partitioning);
  }

  finish(part: Subplan): void {
    this.#close(part, { kind: 'result' });
  }

  #whole(part: Subplan): number {
    return part.stage ?? this.#close(part, { kind: 'whole' });
  }

  #close(part: Subplan, output: DraftOutput): number {
    const id = this.stages.length;
    this.stages.push({
      id,
      relation: part.relation,
      tasks: isPartitioned(part.partitioning) ? this.partitions : 1,
      output,
      estimate: { rows: Math.round(part.rows), bytes: Math.round(bytesOf(part)) },
      nonDeterministic: part.nonDeterministic,
    });
    return id;
  }

  #read(
    part: Subplan,
    stage: number,
    mode: StageLeaf['mode'],
    partitioning: Partitioning,
    late: LateColumns | null = null,
  ): Subplan {
    const made = this.stages[stage];
    invariant(made !== undefined, `stage ${stage} is read before it exists`);
    const name = this.addReading(stage, mode);
    const { output } = made.relation;
    const sent: InputRelation = { kind: 'input', relation: name, output, rows: part.rows };
    const relation = late?.over(sent) ?? sent;
    const isWhole = made.output.kind === 'whole' && late === null;
    const { rows, columns, isOneRow } = part;
    const stays = { rows, columns, isOneRow, nonDeterministic: null, scan: null };
    return { ...stays, relation, partitioning, stage: isWhole ? stage : null };
  }
}

function leafName(stage: number, mode: StageLeaf['mode']): string {
  switch (mode) {
    case 'partition':
      return `stage${stage}`;
    case 'all':
      return `stage${stage}_all`;
    case 'forward':
      return `stage${stage}_own`;
    default:
      return mode satisfies never;
  }
}

/** Without a hashable column, all rows go to the same task. */
const ANY_ONE: Expression = {
  kind: 'constant',
  sql: '0',
  type: { sql: 'INTEGER', id: 'INTEGER' },
};
