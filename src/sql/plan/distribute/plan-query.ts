/** Turns the logical plan of a query into a physical plan. */
import { invariant } from '../../../scheduler/core/index.ts';
import type { Expression } from '../logical/expression.ts';
import type { Relation } from '../logical/relation.ts';
import { bytesText } from '../explain/figures.ts';
import { mayMention } from '../logical/mentions.ts';
import { isNameless } from '../logical/type.ts';
import { Undistributable } from '../logical/undistributable.ts';
import {
  versionOf,
  type AdaptiveJoin,
  type ExchangeInput,
  type Fragment,
  type FragmentColumn,
  type KeyLookup,
  type QueryPlan,
  type ResultColumn,
  type Scan,
  type SessionValues,
  type Stage,
  type StageOutput,
} from '../physical/plan.ts';
import type { PinnedTable } from '../physical/table.ts';
import { printExpression } from '../sql/expression.ts';
import { printRelation } from '../sql/relation.ts';
import { checkDraft } from './check-draft.ts';
import { checkPlan } from './check-plan.ts';
import { Draft, type DraftOutput, type DraftStage, type ScanLeaf } from './draft.ts';
import { fuseStages } from './fuse-stages.ts';
import { Labels, operatorLines, stageTitle } from './operator-text.ts';
import { adaptiveJoins, type DraftJoin } from './adaptive-joins.ts';
import { AddExchanges } from './add-exchanges.ts';
import { pathsOf, scanBytes } from './distribute-scan.ts';
import { KEYS_TABLE, keyLookups } from './key-lookups.ts';
import { runtimeFilters } from './runtime-filters.ts';
import { sharedTotals } from './shared-totals.ts';
import { pruneColumns } from './prune-columns.ts';
import { splittableInputs } from './splittable-inputs.ts';
import { eachRelation } from './relations.ts';
import { withoutImpliedBounds } from './implied-bounds.ts';
import { unfoldCorrelated } from './unfold-correlated.ts';
import { distributeSettings, type DistributeSettings, type PlanSettings } from './settings.ts';

export interface PlanInput {
  /** With its parameters inlined. */
  readonly sql: string;
  readonly columns: readonly ResultColumn[];
  /** Null if the plan could not be read; `whyNot` then says why. */
  readonly logical: Relation | null;
  readonly whyNot: string | null;
  readonly tables: readonly PinnedTable[];
  readonly session: SessionValues;
  readonly duckdb: string;
  readonly settings: PlanSettings;
}

/** Always returns a plan: a query that cannot be distributed runs as a single fragment. */
export function planQuery(input: PlanInput): QueryPlan {
  const plan = distribute(input);
  checkPlan(plan);
  return plan;
}

function distribute(input: PlanInput): QueryPlan {
  const { logical: given, settings } = input;
  if (given === null) return wholePlan(input, input.whyNot ?? 'DuckDB gives no plan for it', null);
  try {
    const logical = withoutImpliedBounds(given, input.tables);
    const relation = pruneColumns(logical);
    const why = whyWhole(relation, input);
    if (why !== null) return wholePlan(input, why, relation);
    const draft = cheapest(logical, relation, input, distributeSettings(settings));
    checkDraft(draft, isOrdered(relation));
    const chosen = distributeSettings(settings);
    const filters = runtimeFilters(draft, chosen);
    const joins = adaptiveJoins(draft, isOrdered(relation), filters, chosen);
    return distributedPlan(input, draft, relation, {
      filters,
      joins: joins.map((join) => toJoin(join, chosen)),
    });
  } catch (error) {
    if (!(error instanceof Undistributable)) throw error;
    return wholePlan(input, error.reason, given);
  }
}

/**
 * Rows that are compared with a scalar subquery are made where they are joined with it, so their tasks wait for it. If few
 * rows are left of them, they are made meanwhile, and joined where they are gathered.
 */
function draftedSoonest(relation: Relation, input: PlanInput, settings: DistributeSettings): Draft {
  const draft = fuseStages(drafted(relation, input, settings));
  if (!draft.stages.some((stage) => isSentRow(stage, draft))) return draft;
  const oneRowGatherBytes = settings.gatherBytes;
  const other = fuseStages(drafted(relation, input, { ...settings, oneRowGatherBytes }));
  return movedBytes(other) < movedBytes(draft) ? other : draft;
}

function isSentRow({ id, tasks, estimate, output }: DraftStage, draft: Draft): boolean {
  const mayBe = tasks === 1 && output.kind === 'whole' && estimate.rows === 1;
  return mayBe && draft.stages.some((reader) => reader.tasks > 1 && readsStage(reader, id, draft));
}

function readsStage({ relation }: DraftStage, id: number, draft: Draft): boolean {
  return [...eachRelation(relation)].some((each) => {
    const leaf = each.kind === 'input' ? draft.leaves.get(each.relation) : undefined;
    return leaf?.kind === 'stage' && leaf.stage === id;
  });
}

/**
 * A correlated subquery that is unfolded is less work, but moves all of its rows if they are not yet where the outer rows
 * are; as DuckDB plans it, it moves only those that match a distinct outer value.
 */
function cheapest(
  logical: Relation,
  relation: Relation,
  input: PlanInput,
  settings: DistributeSettings,
): Draft {
  const draft = draftedSoonest(sharedTotals(relation), input, settings);
  const unfolded = unfoldCorrelated(logical);
  if (unfolded === logical) return draft;
  const other = draftedSoonest(sharedTotals(pruneColumns(unfolded)), input, settings);
  return movedBytes(other) <= movedBytes(draft) ? other : draft;
}

/** What an additional stage costs even if it moves next to nothing, in bytes that could be moved meanwhile. */
const STAGE_BYTES = 2 * 1024 * 1024;

function movedBytes({ stages }: Draft): number {
  return stages
    .slice(0, -1)
    .reduce((sum, { estimate }) => sum + (estimate.bytes ?? 0) + STAGE_BYTES, 0);
}

function drafted(relation: Relation, input: PlanInput, settings: DistributeSettings): Draft {
  const draft = new Draft(settings.partitions, settings.lateBytes);
  draft.finish(new AddExchanges(draft, settings, input.tables).placeResult(relation));
  // Small tables are replicated so that they can be joined with partitioned ones. If nothing else is partitioned, and
  // the settings ask for a distributed query, the small tables are partitioned after all.
  const isWhole = draft.stages.every(({ tasks }) => tasks === 1);
  if (!isWhole || settings.singleFragmentBytes > 0 || settings.replicateBytes === 0) return draft;
  return drafted(relation, input, { ...settings, replicateBytes: 0 });
}

/** Returns null if it pays to distribute the query. */
function whyWhole(relation: Relation, { tables, settings }: PlanInput): string | null {
  const scans = [...eachRelation(relation)].filter((each) => each.kind === 'scan');
  if (settings.partitions === 1) return 'it has one partition only';
  if (scans.length === 0) return 'it reads no table';
  const bytes = scans.reduce((sum, scan) => sum + scanBytes(scan, tables), 0);
  if (settings.singleFragmentBytes === 0 || bytes > settings.singleFragmentBytes) return null;
  return tooLittle(bytes, settings);
}

function tooLittle(bytes: number, { singleFragmentBytes }: PlanSettings): string {
  return `it reads only ${bytesText(Math.ceil(bytes))}, and queries up to ${bytesText(singleFragmentBytes)} are not distributed`;
}

/** The plan of a query that reads so little that it runs whole, whatever DuckDB's plan of it is. */
export function smallQuery(input: PlanInput, bytes: number): QueryPlan {
  const plan = wholePlan(input, tooLittle(bytes, input.settings), null);
  checkPlan(plan);
  return plan;
}

function distributedPlan(
  input: PlanInput,
  draft: Draft,
  relation: Relation,
  { filters, joins }: Required<Pick<QueryPlan, 'filters' | 'joins'>>,
): QueryPlan {
  const labels = new Labels(draft);
  const splits = splittableInputs(draft);
  const lookups = lookupsOf(draft);
  return planOf(input, {
    ordered: isOrdered(relation),
    partitions: draft.partitions,
    single: null,
    stages: draft.stages.map((stage, at) => {
      const may = splits[at] ?? [];
      return { ...toStage(stage, draft, labels), ...(may.length === 0 ? {} : { splits: may }) };
    }),
    ...(filters.length === 0 ? {} : { filters }),
    ...(joins.length === 0 ? {} : { joins }),
    ...(lookups.length === 0 ? {} : { lookups }),
  });
}

/** For a query: each reads a table while it is planned. */
const LOOKUPS_MAX = 8;

/** What several joins look up is looked up once. */
function lookupsOf(draft: Draft): readonly KeyLookup[] {
  const found = new Map<string, KeyLookup>();
  for (const { scans, keys, leaf } of keyLookups(draft)) {
    const type = (keys.output[0] as Expression['type']).sql;
    const own = { sql: printRelation(keys, neverAScan), type, scan: toScan(KEYS_TABLE, leaf) };
    const text = JSON.stringify(own);
    found.set(text, { keys: own, scans: [...(found.get(text)?.scans ?? []), ...scans] });
  }
  return [...found.values()].slice(0, LOOKUPS_MAX);
}

function neverAScan(): string {
  invariant(false, 'a scan is not a leaf of its stage');
}

function toJoin(
  { stage, build, probe, draft, relation }: DraftJoin,
  { broadcastThresholdBytes, adaptiveJoins: level }: DistributeSettings,
): AdaptiveJoin {
  return {
    ...{ stage: stage.id, build: build.id, probe: probe.id },
    fragment: toFragment(stage, draft),
    relation,
    thresholdBytes: broadcastThresholdBytes,
    probeBytes: level === 2 ? null : probe.estimate.bytes,
  };
}

/** The fields in the order of docs/plan-format.md. */
function planOf(
  { duckdb, sql, columns, session, tables }: PlanInput,
  own: Pick<
    QueryPlan,
    'ordered' | 'partitions' | 'single' | 'stages' | 'filters' | 'joins' | 'lookups'
  >,
): QueryPlan {
  const roots = new Set(tables.map(({ root }) => root).filter((root) => root !== null));
  const { ordered, partitions, single, stages, filters, joins, lookups } = own;
  return {
    ...{ version: versionOf(stages), duckdb, sql, columns, ordered, partitions, single, stages },
    session,
    ...(filters === undefined ? {} : { filters }),
    ...(joins === undefined ? {} : { joins }),
    ...(lookups === undefined ? {} : { lookups }),
    roots: [...roots].toSorted(),
  };
}

function toStage(stage: DraftStage, draft: Draft, labels: Labels): Stage {
  return {
    id: stage.id,
    title: stageTitle(stage, draft),
    tasks: stage.tasks,
    fragment: toFragment(stage, draft),
    output: toOutput(stage.output, draft),
    estimate: stage.estimate,
    operators: operatorLines(stage, draft, labels),
    nonDeterministic: stage.nonDeterministic,
    requires: [],
  };
}

function toFragment({ relation }: DraftStage, draft: Draft): Fragment {
  const scans = new Map<string, Scan>();
  const inputs = new Map<string, ExchangeInput>();
  for (const each of eachRelation(relation)) {
    const leaf = each.kind === 'input' ? draft.leaves.get(each.relation) : undefined;
    if (each.kind !== 'input' || leaf === undefined) continue;
    const name = each.relation;
    if (leaf.kind === 'scan') scans.set(name, toScan(name, leaf));
    else {
      const { stage, mode } = leaf;
      inputs.set(name, { relation: name, stage, mode, columns: fragmentColumns(each.output) });
    }
  }
  return {
    sql: printRelation(relation, neverAScan),
    columns: fragmentColumns(relation.output),
    scans: [...scans.values()],
    inputs: [...inputs.values()],
    tables: [],
  };
}

function toScan(relation: string, { scan, table, isPartitioned, split }: ScanLeaf): Scan {
  const paths = pathsOf(scan, table);
  return {
    relation,
    table: table.name,
    files: paths.length === table.files.length ? null : paths,
    rows: isPartitioned ? 'own' : 'all',
    ...(split === null ? {} : { split: { column: split.column, bounds: split.range.bounds } }),
    ...(scan.filters.length > 0 && isPartitioned ? { filtered: true as const } : {}),
    reader: { format: table.format, options: isPartitioned ? splitOptions(table) : table.options },
    columns: scan.columns.map((place) => ({
      source: scan.names[place ?? 0] as string,
      type: (scan.types[place ?? 0] as Expression['type']).sql,
    })),
  };
}

/** Some lines of a text file are read in another way than all of them. */
function splitOptions({ lines, options }: PinnedTable): string {
  return lines?.options ?? options;
}

function fragmentColumns(output: Relation['output']): readonly FragmentColumn[] {
  return output.map((type, at) => {
    if (isNameless(type)) throw new Undistributable('it uses a row without field names');
    return { name: `c${at}`, type: type.sql };
  });
}

function toOutput(output: DraftOutput, draft: Draft): StageOutput {
  const { partitions } = draft;
  const text = (key: Expression): string => printExpression(key, (index) => `c${index}`);
  switch (output.kind) {
    case 'hash':
      return { kind: 'hash', by: output.by.map(text), partitions };
    case 'range':
      return { kind: 'range', by: text(output.by), partitions };
    case 'whole':
    case 'result':
      return output;
    default:
      return output satisfies never;
  }
}

/** A plan with one fragment: the user's own SQL, on one node. */
function wholePlan(input: PlanInput, single: string, relation: Relation | null): QueryPlan {
  const columns = input.columns.map(({ type }, at) => ({ name: `c${at}`, type }));
  const tables = input.tables
    .filter(({ name }) => mayMention(input.sql, name))
    .map((table) => undivided(table));
  const stage: Stage = {
    id: 0,
    title: 'the whole query',
    tasks: 1,
    fragment: { sql: input.sql, columns, scans: [], inputs: [], tables },
    output: { kind: 'result' },
    estimate: { rows: relation?.rows ?? null, bytes: null },
    operators: ['the whole query'],
    nonDeterministic: null,
    requires: [],
  };
  // One task has all rows, in whatever order they come.
  const ordered = relation === null ? true : isOrdered(relation);
  return planOf(input, { ordered, partitions: 1, single, stages: [stage] });
}

/** Without the clusters, which are only for distributing it and may be long. */
function undivided({
  name,
  format,
  files,
  columns,
  options,
  select,
  root,
}: PinnedTable): PinnedTable {
  return { name, format, files, columns, options, select, root };
}

/** Whether the rows have an order that the user asked for. */
function isOrdered(relation: Relation): boolean {
  if (relation.kind === 'sort' || relation.kind === 'topN') return true;
  if (relation.kind === 'with') return isOrdered(relation.body);
  const keepsOrder =
    relation.kind === 'project' || relation.kind === 'filter' || relation.kind === 'limit';
  return keepsOrder && isOrdered(relation.input);
}
