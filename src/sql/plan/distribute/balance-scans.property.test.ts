import fc from 'fast-check';
import { expect, test } from 'vitest';
import { examplePlan } from '../../../../test/sql/plan/example-plan.ts';
import type { QueryPlan, Scan } from '../physical/plan.ts';
import type { ClusterGroup, PinnedTable } from '../physical/table.ts';
import { balanceScans } from './balance-scans.ts';
import { checkPlan } from './check-plan.ts';
import { filesOf, rowRanges } from './scan-splits.ts';

/** Rows of each row group, by file, with days that ascend in the long run. */
const tables = fc
  .array(fc.array(fc.tuple(fc.nat(900), fc.nat(40)), { maxLength: 8 }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((files): PinnedTable => {
    let day = 0;
    const groups: ClusterGroup[] = [];
    for (const [file, own] of files.entries())
      for (const [rows, width] of own) {
        if (rows > 0) groups.push({ file, rows, min: day, max: day + width });
        day += 10;
      }
    const cluster = { column: 'day', groups };
    return {
      name: 'large',
      format: 'parquet',
      files: files.map((own, at) => {
        const rows = own.reduce((sum, [each]) => sum + each, 0);
        const pin = { path: `/f${at}`, bytes: rows, mtimeNs: '1', footer: 'f' };
        return { ...pin, rows, groups: own.map(([each]) => each) };
      }),
      ...{ columns: [], options: '', select: '', root: null, clusters: [cluster] },
      ascending: [{ ...cluster, column: 'other' }],
    };
  });

const keys = fc
  .uniqueArray(fc.integer({ min: -5, max: 400 }), { maxLength: 60 })
  .map((all) => all.toSorted((a, b) => a - b));

/** The scan of the large table in the first stage, read in this way, with what was looked up for it. */
function planned(change: Partial<Scan>): { readonly plan: QueryPlan; readonly scan: Scan } {
  const plan = examplePlan();
  const [first] = plan.stages;
  const [scan] = first!.fragment.scans;
  const own: Scan = { ...scan!, table: 'large', files: null, ...change };
  const stages = plan.stages.map((stage) =>
    stage === first ? { ...stage, fragment: { ...stage.fragment, scans: [own] } } : stage,
  );
  const lookedUp = { stage: 0, relation: own.relation };
  const of = { keys: { sql: '', type: 'BIGINT', scan: own } };
  const lookups = ['day', 'other', 'missing'].map((column) => ({
    ...of,
    scans: [{ ...lookedUp, column }],
  }));
  return { plan: { ...plan, stages, lookups }, scan: own };
}

const scanIn = ({ stages }: QueryPlan): Scan => stages[0]!.fragment.scans[0]!;

test('any keys give cuts with which every row of the files that are read has one task', () => {
  const subsets = fc.option(fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }));
  fc.assert(
    fc.property(tables, keys, fc.option(keys), subsets, (table, found, more, some) => {
      const chosen = some?.flatMap((at) => table.files[at]?.path ?? []);
      const files = chosen === undefined || chosen.length === 0 ? null : [...new Set(chosen)];
      const { plan } = planned({ files });
      const made = balanceScans(plan, [found, more, null], [table]);
      expect(made.lookups).toBeUndefined();
      checkPlan(made);
      const { cuts } = scanIn(made);
      const read = files === null ? table.files : filesOf(table, files);
      const ranges = rowRanges(read, 4, cuts).flat();
      const rows = ranges.reduce(
        (sum, { from, to, rows: all }) => sum + (to ?? all ?? 0) - (from ?? 0),
        0,
      );
      expect(rows).toBe(read.reduce((sum, file) => sum + (file.rows ?? 0), 0));
    }),
  );
});

test('any keys give bounds that grow, and the same ones for all scans that had the same', () => {
  const days = [{ source: 'day', type: 'BIGINT' }];
  fc.assert(
    fc.property(tables, keys, (table, found) => {
      const split = { column: 0, bounds: [10, 20, 30] };
      const { plan, scan } = planned({ columns: days, split });
      const again = { ...scan, relation: 'again' };
      const stages = plan.stages.map((stage) =>
        stage.id === 0
          ? { ...stage, fragment: { ...stage.fragment, scans: [scan, again] } }
          : stage,
      );
      const made = balanceScans({ ...plan, stages }, [null, found], [table]);
      checkPlan(made);
      const bounds = made.stages[0]!.fragment.scans.map((each) => each.split?.bounds);
      expect(bounds[0]).toEqual(bounds[1]);
      expect(new Set(bounds[0]).size).toBe(3);
    }),
  );
});
