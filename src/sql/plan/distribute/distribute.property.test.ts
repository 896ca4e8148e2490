import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CLUSTERED,
  COLUMNS,
  TABLES,
  randomRelation,
} from '../../../../test/sql/plan/random-relation.ts';
import type { Relation } from '../logical/relation.ts';
import { checkDraft } from './check-draft.ts';
import { Draft } from './draft.ts';
import { fuseStages } from './fuse-stages.ts';
import { AddExchanges } from './add-exchanges.ts';
import { planQuery } from './plan-query.ts';
import { pruneColumns } from './prune-columns.ts';
import { distributeSettings } from './settings.ts';

const settings = fc.record({
  partitions: fc.constantFrom(2, 4, 16),
  broadcastThresholdBytes: fc.constantFrom(0, 100_000, 16_000_000, 10 ** 12),
  singleFragmentBytes: fc.constant(0),
  sortThresholdBytes: fc.constantFrom(0, 10 ** 12),
});

describe('any relation', () => {
  test('is split into stages whose operators may run where their rows are', () => {
    fc.assert(
      fc.property(randomRelation, settings, fc.boolean(), (relation, given, isInOrder) => {
        const plan = planQuery({
          sql: 'SELECT 1',
          columns: COLUMNS.map(({ sql }, at) => ({ name: `c${at}`, type: sql })),
          logical: relation,
          whyNot: null,
          tables: isInOrder ? CLUSTERED : TABLES,
          session: { timeZone: 'UTC', now: '2024-01-01 00:00:00+00' },
          duckdb: 'v1',
          settings: given,
        });
        // A mark over several values is one of the few things that are not written as SQL.
        if (plan.single !== null) expect(plan.single).toMatch(/unsupported|reads no table/);
      }),
      { numRuns: 400 },
    );
  });

  test('keeps its columns when unused ones are pruned', () => {
    fc.assert(
      fc.property(randomRelation, (relation) => {
        const types = ({ output }: Relation): readonly string[] => output.map(({ sql }) => sql);
        expect(types(pruneColumns(relation))).toEqual(types(relation));
      }),
      { numRuns: 200 },
    );
  });
});

describe('the check', () => {
  /** The same plan with one exchange taken for another one, in every way there is. */
  function* damaged(draft: Draft): Generator<() => void> {
    for (const [name, leaf] of draft.leaves) {
      if (leaf.kind === 'scan') {
        const isPartitioned = !leaf.isPartitioned;
        yield () => draft.leaves.set(name, { ...leaf, isPartitioned, split: null });
        if (leaf.split !== null) yield () => draft.leaves.set(name, { ...leaf, split: null });
      } else
        for (const mode of ['partition', 'all', 'forward'] as const)
          if (mode !== leaf.mode) yield () => draft.leaves.set(name, { ...leaf, mode });
    }
    for (const before of draft.partials.keys()) yield () => draft.partials.delete(before);
  }

  test.each([
    ['by hash', TABLES],
    ['by values', CLUSTERED],
  ])('refuses most mutated plans, partitioned %s', (_how, tables) => {
    let refused = 0;
    let passed = 0;
    fc.assert(
      fc.property(randomRelation, (relation) => {
        const place = (): Draft => {
          const given = { partitions: 4, broadcastThresholdBytes: 0, singleFragmentBytes: 0 };
          const draft = new Draft(4);
          const context = new AddExchanges(draft, distributeSettings(given), tables);
          draft.finish(context.place(pruneColumns(relation)));
          return fuseStages(draft);
        };
        const count = [...damaged(place())].length;
        for (let at = 0; at < count; at += 1) {
          const draft = place();
          [...damaged(draft)][at]?.();
          try {
            checkDraft(draft);
            passed += 1;
          } catch {
            refused += 1;
          }
        }
      }),
      { numRuns: 60, seed: 7 },
    );
    // What passes is harmless: a scan that only one task makes, or that every task may as well have in full.
    expect(refused).toBeGreaterThan(passed * 3);
  });
});
