/** A small plan of which every part is known, for tests and for the page on the format. */
import { planQuery, type PinnedTable, type QueryPlan } from '../../../src/sql/plan/index.ts';
import { CLUSTERED, COLUMNS, TABLES, column, scanOf } from './random-relation.ts';
import { BIGINT, VARCHAR, decimalType } from '../../../src/sql/plan/logical/type.ts';
import type { Relation } from '../../../src/sql/plan/logical/relation.ts';

const EXAMPLE_SQL =
  'SELECT o.name, sum(l.price) FROM large l JOIN other o ON l.id = o.id GROUP BY o.name ORDER BY 2 DESC';

export const EXAMPLE_TABLES: readonly PinnedTable[] = TABLES.map((table) => ({
  ...table,
  root: '/data',
}));

/** The same, in the order of what they are joined by. */
export const ORDERED_TABLES: readonly PinnedTable[] = CLUSTERED.map((table) => ({
  ...table,
  root: '/data',
}));

/** As DuckDB would have it. `otherRows` are left of the smaller table. */
function exampleRelation(otherRows: number): Relation {
  const total = decimalType(38, 2);
  const join: Relation = {
    kind: 'join',
    type: 'inner',
    left: scanOf('large', 3_000_000),
    right: scanOf('other', otherRows),
    conditions: [{ left: column(0), right: column(0), comparison: '=' }],
    predicate: null,
    errorOnMany: false,
    output: [...COLUMNS, ...COLUMNS],
    rows: 2_500_000,
  };
  const sum = { name: 'sum', distinct: false, filter: null, order: [], type: total };
  return {
    kind: 'sort',
    input: {
      kind: 'aggregate',
      input: join,
      groups: [{ kind: 'column', index: 5, type: VARCHAR }],
      sets: [[0]],
      calls: [{ ...sum, args: [{ kind: 'column', index: 2, type: decimalType(12, 2) }] }],
      grouping: [],
      output: [VARCHAR, total],
      rows: 700_000,
    },
    order: [
      {
        expression: { kind: 'column', index: 1, type: total },
        descending: true,
        nullsFirst: false,
      },
    ],
    output: [VARCHAR, total],
    rows: 700_000,
  };
}

export function examplePlan(
  partitions = 4,
  broadcastThresholdBytes = 1_000_000,
  tables: readonly PinnedTable[] = EXAMPLE_TABLES,
  otherRows = 800_000,
): QueryPlan {
  return planQuery({
    sql: EXAMPLE_SQL,
    columns: [
      { name: 'name', type: 'VARCHAR' },
      { name: 'sum(l.price)', type: 'DECIMAL(38,2)' },
    ],
    logical: exampleRelation(otherRows),
    whyNot: null,
    tables,
    session: { timeZone: 'UTC', now: '2026-05-04 03:02:01+00' },
    duckdb: 'v1.5.6',
    settings: { partitions, broadcastThresholdBytes, singleFragmentBytes: 0 },
  });
}

/** Two stages, as the page on the format shows them. */
export function formatPlan(): QueryPlan {
  const counted: Relation = {
    kind: 'aggregate',
    input: scanOf('large', 3_000_000),
    groups: [{ kind: 'column', index: 1, type: VARCHAR }],
    sets: [[0]],
    calls: [{ name: 'count', args: [], distinct: false, filter: null, order: [], type: BIGINT }],
    grouping: [],
    output: [VARCHAR, BIGINT],
    rows: 500_000,
  };
  return planQuery({
    sql: 'SELECT name, count(*) AS n FROM large GROUP BY name',
    columns: [
      { name: 'name', type: 'VARCHAR' },
      { name: 'n', type: 'BIGINT' },
    ],
    logical: counted,
    whyNot: null,
    tables: EXAMPLE_TABLES,
    session: { timeZone: 'UTC', now: '2026-05-04 03:02:01+00' },
    duckdb: 'v1.5.6',
    settings: { partitions: 4, broadcastThresholdBytes: 1_000_000, singleFragmentBytes: 0 },
  });
}
