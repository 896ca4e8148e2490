import { describe, expect, test } from 'vitest';
import { COLUMNS, TABLES, column, scanOf } from '../../../../test/sql/plan/random-relation.ts';
import type {
  InputRelation,
  Join,
  JoinCondition,
  JoinType,
  Relation,
} from '../logical/relation.ts';
import { BIGINT, BOOLEAN, VARCHAR } from '../logical/type.ts';
import type { PinnedTable } from '../physical/table.ts';
import { checkDraft } from './check-draft.ts';
import { Draft, type DraftOutput, type DraftStage } from './draft.ts';

/** A plan by hand: leaves first, then a last stage of four tasks that reads them. */
class ByHand {
  readonly draft = new Draft(4);

  scan(isPartitioned: boolean): Relation {
    const table = TABLES[0] as PinnedTable;
    const name = this.draft.addScan({
      kind: 'scan',
      scan: scanOf('large'),
      table,
      isPartitioned,
      split: null,
    });
    return input(name);
  }

  /** What another stage has made of a partitioned table. */
  made(output: DraftOutput, mode: 'partition' | 'all' | 'forward'): Relation {
    const id = this.draft.stages.length;
    this.stage(this.scan(true), output);
    const name = `stage${id}`;
    this.draft.leaves.set(name, { kind: 'stage', stage: id, mode });
    return input(name);
  }

  repartition(key: number): Relation {
    return this.made({ kind: 'hash', by: [column(key)] }, 'partition');
  }

  stage(relation: Relation, output: DraftOutput, more: Partial<DraftStage> = {}): void {
    this.draft.stages.push({
      id: this.draft.stages.length,
      relation,
      tasks: 4,
      output,
      estimate: { rows: 1, bytes: 1 },
      nonDeterministic: 'whatever',
      ...more,
    });
  }

  check(relation: Relation, more: Partial<DraftStage> = {}): void {
    this.stage(relation, { kind: 'result' }, more);
    checkDraft(this.draft);
  }
}

function input(relation: string): InputRelation {
  return { kind: 'input', relation, output: COLUMNS, rows: 1 };
}

function join(
  type: JoinType,
  left: Relation,
  right: Relation,
  comparison: JoinCondition['comparison'] = '=',
): Join {
  const isHalf = type === 'semi' || type === 'anti';
  const added = isHalf ? [] : type === 'mark' ? [BOOLEAN] : COLUMNS;
  return {
    ...{ kind: 'join', type, left, right, predicate: null, errorOnMany: true, rows: 1 },
    conditions: [{ left: column(0), right: column(0), comparison }],
    output: [...COLUMNS, ...added],
  };
}

function count(of: Relation, groups: readonly number[]): Relation {
  return {
    kind: 'aggregate',
    input: of,
    groups: groups.map(column),
    sets: [groups.map((_, at) => at)],
    calls: [{ name: 'count', args: [], distinct: false, filter: null, order: [], type: BIGINT }],
    grouping: [],
    output: [...groups.map(() => VARCHAR), BIGINT],
    rows: 1,
  };
}

describe('joins', () => {
  const types: readonly JoinType[] = [
    ...(['inner', 'left', 'right', 'full', 'semi', 'anti', 'mark', 'single'] as const),
  ];
  const verdict = (build: (plan: ByHand) => Relation): string => {
    const plan = new ByHand();
    try {
      plan.check(build(plan));
      return 'right';
    } catch (error) {
      return String(error);
    }
  };

  test('with a broadcast right side are correct where no unmatched right row comes out', () => {
    const right = types.filter(
      (type) => verdict((plan) => join(type, plan.scan(true), plan.scan(false))) === 'right',
    );
    expect(right).toEqual(['inner', 'left', 'semi', 'anti', 'mark', 'single']);
  });

  test('with a broadcast left side are correct for inner and right joins', () => {
    const right = types.filter(
      (type) => verdict((plan) => join(type, plan.scan(false), plan.scan(true))) === 'right',
    );
    expect(right).toEqual(['inner', 'right']);
  });

  test('on co-partitioned keys are correct, except for mark joins', () => {
    const right = types.filter(
      (type) => verdict((plan) => join(type, plan.repartition(0), plan.repartition(0))) === 'right',
    );
    expect(right).toEqual(['inner', 'left', 'right', 'full', 'semi', 'anti', 'single']);
  });

  test('that mark by a condition that is never NULL are correct as well', () => {
    expect(
      verdict((plan) =>
        join('mark', plan.repartition(0), plan.repartition(0), 'IS NOT DISTINCT FROM'),
      ),
    ).toBe('right');
  });

  test('on other keys, or on an inequality, are refused', () => {
    expect(verdict((plan) => join('inner', plan.repartition(0), plan.repartition(2)))).toMatch(
      /rows that match are in different tasks/,
    );
    expect(verdict((plan) => join('inner', plan.repartition(0), plan.repartition(0), '<'))).toMatch(
      /rows that match/,
    );
    expect(verdict((plan) => join('inner', plan.repartition(0), plan.scan(true)))).toMatch(
      /rows that match/,
    );
  });

  test('that are full lose their partitioning', () => {
    expect(
      verdict((plan) => count(join('full', plan.repartition(0), plan.repartition(0)), [0])),
    ).toMatch(/rows of a group are in different tasks/);
    expect(
      verdict((plan) => count(join('left', plan.repartition(0), plan.repartition(0)), [0])),
    ).toBe('right');
  });

  test('of two broadcast sides would return every row four times', () => {
    expect(verdict((plan) => join('inner', plan.scan(false), plan.scan(false)))).toMatch(
      /would come out of every task/,
    );
  });
});

describe('other operators', () => {
  test('count groups where all rows of a group are', () => {
    const plan = new ByHand();
    expect(() => plan.check(count(plan.scan(true), [1]))).toThrow(/rows of a group/);
    const other = new ByHand();
    other.check(count(other.repartition(1), [1, 0]));
    const total = new ByHand();
    expect(() => total.check(count(total.repartition(1), []))).toThrow(/rows of a group/);
  });

  test('tell the columns of grouping sets apart', () => {
    const sets = (groups: readonly number[]): Relation => ({
      ...(count(input('scan0'), groups) as Extract<Relation, { kind: 'aggregate' }>),
      sets: [groups.map((_, at) => at), [0]],
    });
    const check = (groups: readonly number[]): void => {
      const plan = new ByHand();
      plan.scan(false);
      plan.check(sets(groups), { tasks: 1 });
    };
    check([0, 1]);
    expect(() => check([0, 0])).toThrow(/cannot tell two of its groups apart/);
  });

  test('take the first rows once', () => {
    const limit = (of: Relation): Relation => ({
      ...{ kind: 'limit', input: of, limit: 3, offset: 0, output: COLUMNS, rows: 1 },
    });
    const plan = new ByHand();
    expect(() => plan.check(limit(plan.scan(true)))).toThrow(/every task would take as many rows/);
  });

  test('that may choose between rows are marked, and not run by several tasks over the same', () => {
    const limit: Relation = {
      ...{ kind: 'limit', input: input('scan0'), limit: 3, offset: 0, output: COLUMNS, rows: 1 },
    };
    const plan = new ByHand();
    plan.scan(false);
    expect(() => plan.check(join('inner', plan.scan(true), limit))).toThrow(/in every task/);
    const unmarked = new ByHand();
    unmarked.scan(false);
    expect(() => unmarked.check(limit, { tasks: 1, nonDeterministic: null })).toThrow(/not marked/);
  });

  test('combine partitioned inputs with partitioned inputs', () => {
    const union = (inputs: readonly Relation[]): Relation => ({
      ...{ kind: 'set', operation: 'union', all: true, inputs, output: COLUMNS, rows: 1 },
    });
    const plan = new ByHand();
    expect(() => plan.check(union([plan.scan(true), plan.scan(false)]))).toThrow(
      /one input is in every task/,
    );
    const other = new ByHand();
    other.check(union([other.scan(true), other.repartition(0)]));
  });

  test('that sort run in one task', () => {
    const plan = new ByHand();
    const sort: Relation = {
      ...{ kind: 'sort', input: plan.scan(true), order: [], output: COLUMNS, rows: 1 },
    };
    expect(() => plan.check(sort)).toThrow(/order is lost/);
  });
});

describe('exchanges', () => {
  test('that no stage produces are refused', () => {
    const plan = new ByHand();
    expect(() => plan.check(input('stage9'))).toThrow(/there is no relation stage9/);
  });

  test('of one kind are not read as another', () => {
    const plan = new ByHand();
    expect(() => plan.check(plan.made({ kind: 'whole' }, 'partition'))).toThrow(/partitions of/);
    const other = new ByHand();
    const by = [column(0)];
    expect(() => other.check(other.made({ kind: 'hash', by }, 'all'))).toThrow(/all of hash/);
  });

  test('of four partitions are not read by one task', () => {
    const plan = new ByHand();
    expect(() => plan.check(plan.repartition(0), { tasks: 1 })).toThrow(
      /one of several partitions/,
    );
  });

  test('of a partial operator are completed by the final one', () => {
    const plan = new ByHand();
    const before = count(plan.scan(true), [1]);
    plan.draft.pairPartial(before, count(input('elsewhere'), [1]));
    expect(() => plan.check(before)).toThrow(/only partial/);
  });
});
