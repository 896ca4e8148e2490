/** Reads a plan that a client submits. Nothing in it is trusted. */
import { MillraceError, isId, isObject } from '../../../scheduler/core/index.ts';
import { type PlanFault, planFault } from '../distribute/check-plan.ts';
import { PARTITIONS_MAX } from '../distribute/settings.ts';
import {
  PLAN_VERSION,
  versionOf,
  type Estimate,
  type ExchangeInput,
  type Fragment,
  type FragmentColumn,
  type QueryPlan,
  type Scan,
  type Stage,
  type StageOutput,
} from '../physical/plan.ts';
import { upgradePlan } from '../physical/stored-plan.ts';
import { parseType } from '../sql/parse-type.ts';
import { PlanReader } from './plan-reader.ts';

/** More stages than any real plan has, few enough to be handled. */
const STAGES_MAX = 1_000;
const COLUMNS_MAX = 10_000;
const FILES_MAX = 100_000;
const REQUIRED_MAX = 100;

/** Throws `bad_input` with the path of the invalid field. */
export function readPlan(json: unknown): QueryPlan {
  const plan = readFields(PlanReader.of(upgradePlan(json)));
  const fault = planFault(plan) ?? resultFault(plan);
  if (fault !== null) {
    throw new MillraceError({
      code: 'bad_input',
      path: fault.path,
      what: `The plan is not valid: ${fault.what}.`,
      todo: 'See docs/plan-format.md.',
    });
  }
  return plan;
}

/** Readers of the result rely on the columns of the plan. */
function resultFault({ columns, stages }: QueryPlan): PlanFault | null {
  const made = stages.at(-1)?.fragment.columns ?? [];
  const isSame =
    made.length === columns.length && made.every(({ type }, at) => type === columns[at]?.type);
  return isSame
    ? null
    : { path: '/columns', what: 'must have the types of the columns of the last stage' };
}

/** EXPLAIN answers with `filters` too. They are not taken from a plan: nothing is known of which rows it needs. */
const FIELDS = [
  ...['version', 'duckdb', 'sql', 'columns', 'ordered', 'partitions', 'single', 'stages'],
  ...['session', 'filters', 'roots'],
];

function readFields(reader: PlanReader): QueryPlan {
  const version = reader.at('version');
  if (version.value !== 2 && version.value !== 3 && version.value !== PLAN_VERSION)
    version.refuse(`This server reads versions 1 to ${PLAN_VERSION} of the plan format.`);
  reader.known(FIELDS);
  const stages = readStages(reader.at('stages'));
  const session = reader.at('session').known(['timeZone', 'now']);
  return {
    version: versionOf(stages),
    duckdb: reader.at('duckdb').text(),
    sql: reader.at('sql').text(),
    columns: reader.at('columns').list(COLUMNS_MAX, (column) => {
      column.known(['name', 'type']);
      return { name: column.at('name').text(), type: readType(column.at('type')) };
    }),
    ordered: reader.at('ordered').flag(),
    partitions: reader.at('partitions').whole(1, PARTITIONS_MAX),
    single: reader.at('single').orNull((each) => each.text()),
    stages,
    session: { timeZone: session.at('timeZone').text(), now: session.at('now').text() },
    roots: reader.at('roots').list(COLUMNS_MAX, (root) => root.text()),
  };
}

function readStages(reader: PlanReader): readonly Stage[] {
  const stages = reader.list(STAGES_MAX, readStage);
  if (stages.length === 0) reader.refuse('A plan must have at least one stage.');
  return stages;
}

const STAGE_FIELDS = [
  ...['id', 'title', 'tasks', 'fragment', 'output', 'estimate', 'operators', 'nonDeterministic'],
  // Of a plan that was made here. It is not taken from others: which rows a task may read is proved, not claimed.
  ...['requires', 'splits'],
];

function readStage(reader: PlanReader): Stage {
  reader.known(STAGE_FIELDS);
  return {
    id: reader.at('id').whole(0, STAGES_MAX),
    title: reader.at('title').text(),
    tasks: reader.at('tasks').whole(1, PARTITIONS_MAX),
    fragment: readFragment(reader.at('fragment')),
    output: readOutput(reader.at('output')),
    estimate: readEstimate(reader.at('estimate')),
    operators: reader.at('operators').list(COLUMNS_MAX, (line) => line.text()),
    nonDeterministic: reader.at('nonDeterministic').orNull((each) => each.text()),
    requires: readRequired(reader.at('requires')),
  };
}

/** Most stages require none, so the field may be left out. */
function readRequired(reader: PlanReader): readonly string[] {
  if (reader.value === undefined) return [];
  const names = reader.list(REQUIRED_MAX, (name) => {
    const text = name.text();
    return isId(text) ? text : name.refuse(`${JSON.stringify(text)} is not a valid operator name.`);
  });
  return [...new Set(names)];
}

function readEstimate(reader: PlanReader): Estimate {
  reader.known(['rows', 'bytes']);
  const number = (each: PlanReader): number => each.whole(0, Number.MAX_SAFE_INTEGER);
  return { rows: reader.at('rows').orNull(number), bytes: reader.at('bytes').orNull(number) };
}

function readFragment(reader: PlanReader): Fragment {
  reader.known(['sql', 'columns', 'scans', 'inputs', 'tables', 'custom']);
  const tables = reader.at('tables');
  // Tables would be files that nobody has pinned, read with SQL that nobody has checked.
  if (tables.list(COLUMNS_MAX, (table) => table.value).length > 0)
    tables.refuse('A fragment of a submitted plan must not have tables.', 'Use scans.');
  return {
    sql: reader.at('sql').text(),
    columns: readColumns(reader.at('columns')),
    scans: reader.at('scans').list(STAGES_MAX, readScan),
    inputs: reader.at('inputs').list(STAGES_MAX, readInput),
    tables: [],
    ...readCustom(reader.at('custom')),
  };
}

/** Most fragments call no custom operator. */
function readCustom(reader: PlanReader): Pick<Fragment, 'custom'> {
  if (reader.value === undefined) return {};
  reader.known(['op_name', 'input', 'params']);
  const params = reader.at('params');
  const { value } = params;
  if (value !== undefined && !isObject(value)) params.refuse('Must be an object.');
  return {
    custom: {
      op_name: reader.at('op_name').text(),
      input: reader.at('input').text(),
      params: (value ?? {}) as Readonly<Record<string, unknown>>,
    },
  };
}

function readColumns(reader: PlanReader): readonly FragmentColumn[] {
  const columns = reader.list(COLUMNS_MAX, (column, at) => {
    column.known(['name', 'type']);
    const name = column.at('name');
    if (name.text() !== `c${at}`)
      name.refuse(`Columns are named c0, c1, ...: this one must be c${at}.`);
    return { name: `c${at}`, type: readType(column.at('type')) };
  });
  if (columns.length === 0) reader.refuse('A fragment must have at least one column.');
  return columns;
}

/** The text goes into SQL as it is, so it must be a type and nothing else. */
function readType(reader: PlanReader): string {
  const text = reader.text();
  try {
    parseType(text);
  } catch {
    reader.refuse(
      `${JSON.stringify(text.slice(0, SHOWN_MAX))} is not a type that a plan can have.`,
    );
  }
  return text;
}

const SHOWN_MAX = 100;

const RELATION = /^[a-z_][a-z0-9_]{0,62}$/;

function readRelation(reader: PlanReader): string {
  const name = reader.text();
  if (!RELATION.test(name))
    reader.refuse(
      'A relation name has at most 63 lower-case letters, digits and _, and no digit at the beginning.',
    );
  return name;
}

function readScan(reader: PlanReader): Scan {
  reader.known([
    'relation',
    'table',
    'files',
    'rows',
    'split',
    'cuts',
    'filtered',
    'reader',
    'columns',
  ]);
  const how = reader.at('reader').known(['format', 'options']);
  const format = how.at('format').choice(['parquet', 'csv', 'json'] as const);
  const rows = reader.at('rows').choice(['own', 'all'] as const);
  if (rows === 'own' && format !== 'parquet')
    reader.at('rows').refuse(`Only Parquet files can be split: ${format} needs 'all'.`);
  return {
    relation: readRelation(reader.at('relation')),
    table: reader.at('table').text(),
    files: reader.at('files').orNull((each) => each.list(FILES_MAX, (file) => file.text())),
    rows,
    ...readSplit(reader.at('split')),
    ...readCuts(reader.at('cuts')),
    ...readFiltered(reader.at('filtered')),
    reader: { format, options: how.at('options').textOrEmpty() },
    columns: reader.at('columns').list(COLUMNS_MAX, (column) => {
      column.known(['source', 'type']);
      return { source: column.at('source').text(), type: column.at('type').text() };
    }),
  };
}

/** Most scans have none. */
function readSplit(reader: PlanReader): Pick<Scan, 'split'> {
  if (reader.value === undefined) return {};
  reader.known(['column', 'bounds']);
  const { MIN_SAFE_INTEGER: min, MAX_SAFE_INTEGER: max } = Number;
  const column = reader.at('column').whole(0, COLUMNS_MAX);
  const bounds = reader.at('bounds').list(PARTITIONS_MAX, (bound) => bound.whole(min, max));
  return { split: { column, bounds } };
}

function readCuts(reader: PlanReader): Pick<Scan, 'cuts'> {
  if (reader.value === undefined) return {};
  const { MAX_SAFE_INTEGER: max } = Number;
  return { cuts: reader.list(PARTITIONS_MAX, (cut) => cut.whole(0, max)) };
}

function readFiltered(reader: PlanReader): Pick<Scan, 'filtered'> {
  if (reader.value === undefined) return {};
  return reader.value === true ? { filtered: true } : reader.refuse('Must be true or absent.');
}

function readInput(reader: PlanReader): ExchangeInput {
  reader.known(['relation', 'stage', 'mode', 'columns']);
  return {
    relation: readRelation(reader.at('relation')),
    stage: reader.at('stage').whole(0, STAGES_MAX),
    mode: reader.at('mode').choice(['partition', 'all', 'forward'] as const),
    columns: readColumns(reader.at('columns')),
  };
}

function readOutput(reader: PlanReader): StageOutput {
  const kind = reader.at('kind').choice(['hash', 'range', 'whole', 'result'] as const);
  if (kind === 'whole' || kind === 'result') {
    reader.known(['kind']);
    return { kind };
  }
  reader.known(['kind', 'by', 'partitions']);
  const partitions = reader.at('partitions').whole(1, PARTITIONS_MAX);
  if (kind === 'range') return { kind, by: reader.at('by').text(), partitions };
  const by = reader.at('by').list(COLUMNS_MAX, (key) => key.text());
  if (by.length === 0) reader.at('by').refuse('A hash output needs at least one expression.');
  return { kind, by, partitions };
}
