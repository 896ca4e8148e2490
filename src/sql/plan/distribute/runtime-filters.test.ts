import { expect, test } from 'vitest';
import { COLUMNS, TABLES, column, scanOf } from '../../../../test/sql/plan/random-relation.ts';
import type { Join, Relation } from '../logical/relation.ts';
import type { PinnedTable } from '../physical/table.ts';
import { Draft, type DraftOutput, type StageLeaf } from './draft.ts';
import { runtimeFilters } from './runtime-filters.ts';

const HASH: DraftOutput = { kind: 'hash', by: [column(0)] };
const WHOLE: DraftOutput = { kind: 'whole' };

/** With a million rows each. */
function scan(draft: Draft): Relation {
  const [table] = TABLES as readonly [PinnedTable];
  const files = table.files.map((each) => ({ ...each, rows: 1_000_000 }));
  const own = { scan: scanOf('large'), table: { ...table, files } };
  return input(draft.addScan({ kind: 'scan', ...own, isPartitioned: true, split: null }));
}

function input(relation: string): Relation {
  return { kind: 'input', relation, output: COLUMNS, rows: 1 };
}

function reading(draft: Draft, stage: number, mode: StageLeaf['mode']): Relation {
  return input(draft.addReading(stage, mode));
}

function close(draft: Draft, relation: Relation, output: DraftOutput): void {
  const id = draft.stages.length;
  const estimate = { rows: 10, bytes: 10 };
  draft.stages.push({ id, relation, tasks: 4, output, estimate, nonDeterministic: null });
}

function join(left: Relation, right: Relation): Join {
  return {
    ...{ kind: 'join', type: 'inner', left, right, predicate: null, errorOnMany: true, rows: 1 },
    conditions: [{ left: column(0), right: column(0), comparison: '=' }],
    output: [...COLUMNS, ...COLUMNS],
  };
}

/** Rows go to a join along two ways, as those of a correlated subquery do: once by themselves, once joined with a scan. */
function twoWays(isJoinedBelow: boolean): Draft {
  const draft = new Draft(4);
  close(draft, scan(draft), WHOLE);
  close(draft, reading(draft, 0, 'forward'), WHOLE);
  const large = scan(draft);
  close(draft, isJoinedBelow ? join(large, reading(draft, 1, 'all')) : large, HASH);
  close(draft, reading(draft, 0, 'forward'), HASH);
  close(draft, join(reading(draft, 3, 'partition'), reading(draft, 2, 'partition')), {
    kind: 'result',
  });
  return draft;
}

test('a scan is filtered by the keys of a join in a later stage', () => {
  const [filter, ...others] = runtimeFilters(twoWays(false), { runtimeFilters: 1 });
  expect(others).toEqual([]);
  expect([filter?.stage, filter?.keys.stage]).toEqual([2, 3]);
});

test('but not if its own stage has joined it with the same rows, which came another way', () => {
  expect(runtimeFilters(twoWays(true), { runtimeFilters: 1 })).toEqual([]);
  expect(runtimeFilters(twoWays(true), { runtimeFilters: 2 })).not.toEqual([]);
});
