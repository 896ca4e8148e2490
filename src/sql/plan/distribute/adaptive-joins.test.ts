import { expect, test } from 'vitest';
import { TABLES, column, scanOf, COLUMNS } from '../../../../test/sql/plan/random-relation.ts';
import type { Join, JoinType, Relation } from '../logical/relation.ts';
import { BOOLEAN } from '../logical/type.ts';
import type { RuntimeFilter } from '../physical/plan.ts';
import type { PinnedTable } from '../physical/table.ts';
import { adaptiveJoins } from './adaptive-joins.ts';
import { Draft, type DraftOutput } from './draft.ts';
import { distributeSettings, type DistributeSettings } from './settings.ts';

const MIB = 2 ** 20;
const HASH: DraftOutput = { kind: 'hash', by: [column(0)] };

function scan(draft: Draft): Relation {
  const [table] = TABLES as readonly [PinnedTable];
  const leaf = { scan: scanOf('large'), table, isPartitioned: true, split: null };
  return input(draft.addScan({ kind: 'scan', ...leaf }));
}

function input(relation: string): Relation {
  return { kind: 'input', relation, output: COLUMNS, rows: 1 };
}

function filtered(below: Relation): Relation {
  const condition = { kind: 'constant', sql: 'true', type: BOOLEAN } as const;
  return { kind: 'filter', input: below, conditions: [condition], output: COLUMNS, rows: 1 };
}

function close(draft: Draft, relation: Relation, output: DraftOutput, bytes = MIB): void {
  const id = draft.stages.length;
  const estimate = { rows: 100, bytes };
  draft.stages.push({ id, relation, tasks: 4, output, estimate, nonDeterministic: null });
}

function join(type: JoinType, left: Relation, right: Relation): Join {
  const isSemi = type === 'semi' || type === 'anti';
  return {
    ...{ kind: 'join', type, left, right, predicate: null, errorOnMany: true, rows: 1 },
    conditions: [{ left: column(0), right: column(0), comparison: '=' }],
    output: isSemi ? COLUMNS : [...COLUMNS, ...COLUMNS],
  };
}

interface Shape {
  readonly type?: JoinType;
  readonly sizes?: readonly [number, number];
  readonly isGuess?: boolean;
}

/** Stages 0 and 1 are joined in stage 2. */
function drafted({ type = 'inner', sizes = [100 * MIB, 900 * MIB], isGuess = true }: Shape): Draft {
  const draft = new Draft(4);
  const small = scan(draft);
  close(draft, isGuess ? filtered(small) : small, HASH, sizes[0]);
  close(draft, scan(draft), HASH, sizes[1]);
  const sides = [0, 1].map((id) => input(draft.addReading(id, 'partition')));
  close(draft, join(type, sides[0]!, sides[1]!), { kind: 'result' });
  return draft;
}

const settings = (adaptive: number, thresholdMib = 32): DistributeSettings =>
  distributeSettings({
    ...{ partitions: 4, singleFragmentBytes: 0, adaptiveJoins: adaptive },
    broadcastThresholdBytes: thresholdMib * MIB,
  });

const found = (
  shape: Shape,
  level = 1,
  filters: readonly RuntimeFilter[] = [],
): readonly (readonly [number, number])[] =>
  adaptiveJoins(drafted(shape), false, filters, settings(level)).map(
    ({ build, probe }) => [build.id, probe.id] as const,
  );

test('the side that may be small is waited for, and may be broadcast', () => {
  const [first] = adaptiveJoins(drafted({}), false, [], settings(1));
  expect([first?.stage.id, first?.build.id, first?.probe.id]).toEqual([2, 0, 1]);
  expect(first?.relation).toBe('stage0_all');
});

test('nothing is decided later where that cannot pay', () => {
  expect(found({ isGuess: false })).toEqual([]);
  expect(found({ sizes: [900 * MIB, 900 * MIB] })).toEqual([]);
  expect(found({ sizes: [8 * MIB, 16 * MIB] })).toEqual([]);
  expect(found({}, 0)).toEqual([]);
  expect(adaptiveJoins(drafted({}), false, [], settings(2, 0))).toEqual([]);
  expect(found({ isGuess: false }, 2)).toEqual([[0, 1]]);
});

test('only a side is broadcast whose unmatched rows do not come out', () => {
  const types: readonly JoinType[] = ['inner', 'right', 'left', 'semi', 'anti', 'full', 'mark'];
  const sides = Object.fromEntries(types.map((type) => [type, found({ type }, 2)]));
  expect(sides).toEqual({
    ...{ inner: [[0, 1]], right: [[0, 1]] },
    ...{ left: [[1, 0]], semi: [[1, 0]], anti: [[1, 0]] },
    ...{ full: [], mark: [] },
  });
});

test('a stage whose keys others are filtered by always runs', () => {
  const filter = {
    ...{ stage: 0, relation: 'scan0', column: 0, type: 'BIGINT', name: 't.k', matchesNull: false },
    keys: { stage: 1, column: 0 },
  };
  expect(found({}, 2, [filter])).toEqual([[1, 0]]);
  const other = { ...filter, stage: 1, relation: 'scan1', keys: { stage: 0, column: 0 } };
  expect(found({}, 2, [other])).toEqual([[0, 1]]);
});

test('a stage with a second reader always runs', () => {
  const draft = drafted({});
  const last = draft.stages.pop()!;
  close(draft, last.relation, { kind: 'whole' });
  const again = input(draft.addReading(1, 'partition'));
  close(draft, again, { kind: 'result' });
  expect(adaptiveJoins(draft, false, [], settings(2))).toEqual([]);
});
