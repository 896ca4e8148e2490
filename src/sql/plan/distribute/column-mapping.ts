/** Which columns survive pruning, and their new positions. */
import { invariant } from '../../../scheduler/core/index.ts';
import type { Expression } from '../logical/expression.ts';
import type { SqlType } from '../logical/type.ts';
import { collectColumns, type ColumnMapping } from './expressions.ts';
import { widthOf } from './types.ts';

export function narrowestOf(types: readonly SqlType[]): number {
  const widths = types.map(widthOf);
  return Math.max(0, widths.indexOf(Math.min(...widths)));
}

export function usedBy(own: readonly Expression[], needed: readonly number[]): readonly number[] {
  const used = new Set(needed);
  for (const each of own) collectColumns(each, used);
  return [...used].toSorted((a, b) => a - b);
}

export function mappingTo(kept: readonly number[]): ColumnMapping {
  const places = new Map(kept.map((old, at) => [old, at]));
  return (index) => {
    const place = places.get(index);
    invariant(place !== undefined, `column ${index} was dropped but is used`);
    return place;
  };
}
