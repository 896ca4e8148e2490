/** Reduces scans to the columns that are needed by operators above or by a filter. */
import type { Expression } from '../logical/expression.ts';
import type { Relation, ScanRelation } from '../logical/relation.ts';
import { nullOf } from '../logical/type.ts';
import { column, moved } from './expressions.ts';
import { narrowestOf, mappingTo, usedBy } from './column-mapping.ts';
import { project } from './relations.ts';

export function keepScan(scan: ScanRelation, needed: readonly number[]): Relation {
  const kept = needed.map((at) => scan.keep[at] as number);
  const real = kept.filter((at) => scan.columns[at] !== null);
  const used = usedBy(scan.filters, real).filter((at) => scan.columns[at] !== null);
  if (used.length === 0) return countedRows(scan, needed);
  const places = mappingTo(used);
  const result: ScanRelation = {
    ...scan,
    columns: used.map((at) => scan.columns[at] as number),
    filters: scan.filters.map((each) => moved(each, places)),
    keep: real.length > 0 ? real.map(places) : [0],
    output:
      real.length > 0
        ? real.map((at) => tableType(scan, scan.columns[at] as number))
        : [tableType(scan, scan.columns[used[0] as number] as number)],
  };
  return real.length === kept.length ? result : withNulls(result, scan, needed, kept);
}

/** Only the number of rows is needed: reads the narrowest column of the table for it. */
function countedRows(scan: ScanRelation, needed: readonly number[]): Relation {
  const best = narrowestOf(scan.types);
  const output = scan.types.slice(best, best + 1);
  const rows: ScanRelation = { ...scan, columns: [best], keep: [0], output };
  return needed.length === 0 ? rows : withNulls(rows, scan, needed, []);
}

/** Columns that are not in the files are NULL, each at its position. */
function withNulls(
  input: Relation,
  scan: ScanRelation,
  needed: readonly number[],
  kept: readonly number[],
): Relation {
  let real = 0;
  const expressions = needed.map((at, index): Expression => {
    const type = scan.output[at] as Expression['type'];
    const place = kept[index];
    const isReal = place !== undefined && scan.columns[place] !== null;
    if (!isReal) return { kind: 'constant', sql: nullOf(type), type };
    real += 1;
    return column(real - 1, type);
  });
  return project(input, expressions);
}

function tableType(scan: ScanRelation, place: number): Expression['type'] {
  return scan.types[place] as Expression['type'];
}
