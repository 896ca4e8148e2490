import { describe, expect, test } from 'vitest';
import { COLUMNS, TABLES, column, scanOf } from '../../../../test/sql/plan/random-relation.ts';
import type { Expression, WindowCall } from '../logical/expression.ts';
import type { Filter, Relation } from '../logical/relation.ts';
import { BIGINT, BOOLEAN } from '../logical/type.ts';
import { AddExchanges } from './add-exchanges.ts';
import { checkDraft } from './check-draft.ts';
import { Draft } from './draft.ts';
import { rankFilter } from './distribute-ranked.ts';
import { distributeSettings } from './settings.ts';

function call(name: string, more: Partial<WindowCall> = {}): WindowCall {
  return {
    ...{ name, args: [], frame: '', frameValues: [], ignoreNulls: false, distinct: false },
    ...{ partitionBy: [], filter: null, argOrder: [], type: BIGINT },
    orderBy: [0, 1, 2, 3].map((at) => ({
      ...{ expression: column(at), descending: false, nullsFirst: false },
    })),
    ...more,
  };
}

function compared(comparison: '<=' | '<' | '=' | '>', value: string, index = 4): Expression {
  const left: Expression = { kind: 'column', index, type: BIGINT };
  const right: Expression = { kind: 'constant', sql: value, type: BIGINT };
  return { kind: 'compare', comparison, left, right, type: BOOLEAN };
}

const TEN = 'CAST(10 AS BIGINT)';

function ranked(
  conditions: readonly Expression[],
  calls: readonly WindowCall[] = [call('row_number')],
): Filter {
  const output = [...COLUMNS, ...calls.map(() => BIGINT)];
  const window: Relation = { kind: 'window', input: scanOf('large'), calls, output, rows: null };
  return { kind: 'filter', input: window, conditions, output, rows: null };
}

function drafted(relation: Relation): Draft {
  const given = { partitions: 4, broadcastThresholdBytes: 0, singleFragmentBytes: 0 };
  const draft = new Draft(4);
  draft.finish(new AddExchanges(draft, distributeSettings(given), TABLES).place(relation));
  return draft;
}

describe('a filter on a rank', () => {
  test('has a bound', () => {
    expect(rankFilter(ranked([compared('<=', TEN)]))?.bound).toBe(10);
    expect(rankFilter(ranked([compared('<', TEN)]))?.bound).toBe(9);
    expect(rankFilter(ranked([compared('=', TEN), compared('>', TEN)]))?.bound).toBe(10);
  });

  test('has none if it is about something else, or not about a rank', () => {
    for (const filter of [
      ranked([compared('>', TEN)]),
      ranked([compared('<=', TEN, 0)]),
      ranked([compared('<=', 'CAST(-1 AS BIGINT)')]),
      ranked([compared('<=', TEN)], [call('ntile', { args: [column(0)] })]),
      ranked([compared('<=', TEN, 5)], [call('row_number'), call('rank')]),
      ranked([compared('<=', TEN)], [call('rank', { argOrder: call('rank').orderBy })]),
    ])
      expect(rankFilter(filter)).toBeNull();
  });

  test('is applied by each task before the exchange, if few rows are left', () => {
    const draft = drafted(ranked([compared('<=', TEN), compared('>', TEN, 0)]));
    expect(draft.stages.map(({ tasks, estimate }) => [tasks, estimate.rows])).toEqual([
      [4, 40],
      [1, 8],
    ]);
    const [partial] = draft.partials.keys();
    expect(partial).toMatchObject({ kind: 'filter', conditions: [{ comparison: '<=' }] });
    expect(() => checkDraft(draft)).not.toThrow();
  });

  test('is not applied twice where most rows are first in their group', () => {
    const byId = call('row_number', { partitionBy: [column(0)] });
    expect(drafted(ranked([compared('<=', TEN)], [byId])).partials.size).toBe(0);
  });

  test('is refused by the check where it drops too much', () => {
    const damaged = (change: (partial: Filter) => Filter): string => {
      const draft = drafted(ranked([compared('<=', TEN)]));
      const [[partial, final] = []] = draft.partials;
      const changed = change(partial as Filter);
      const [stage] = draft.stages;
      if (stage?.relation.kind !== 'project' || final === undefined) return 'another plan';
      draft.stages[0] = { ...stage, relation: { ...stage.relation, input: changed } };
      draft.partials.clear();
      draft.pairPartial(changed, final);
      try {
        checkDraft(draft);
        return 'right';
      } catch (error) {
        return String(error);
      }
    };
    expect(damaged((partial) => ({ ...partial }))).toBe('right');
    const nine = compared('<', TEN);
    expect(damaged((partial) => ({ ...partial, conditions: [nine] }))).toContain('drops rows');
    const more = compared('<=', TEN, 0);
    expect(
      damaged((partial) => ({ ...partial, conditions: [...partial.conditions, more] })),
    ).toContain('before they are ranked');
  });
});
