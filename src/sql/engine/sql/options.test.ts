import { expect, test } from 'vitest';
import {
  isOn,
  readOptions,
  typeMap,
  withOptions,
  withoutOptions,
  writeOptions,
} from './options.ts';

test('splits options at the commas between them', () => {
  const text = `Delim = ',', columns = {'a,b': 'DECIMAL(3,1)'}, names = ['x', "y,"], header=true`;
  const options = readOptions(text);
  expect(options).toEqual([
    { name: 'delim', value: `','` },
    { name: 'columns', value: `{'a,b': 'DECIMAL(3,1)'}` },
    { name: 'names', value: `['x', "y,"]` },
    { name: 'header', value: 'true' },
  ]);
  expect(readOptions(writeOptions(options))).toEqual(options);
  expect(readOptions('')).toEqual([]);
});

test('what is given stays, what is missing is added, what is not wanted is dropped', () => {
  const given = readOptions('header = false');
  const more = readOptions(`header = true, delim = '|'`);
  const all = withOptions(given, more);
  expect(writeOptions(all)).toBe(`header = false, delim = '|'`);
  expect(writeOptions(withoutOptions(all, new Set(['header'])))).toBe(`delim = '|'`);
  expect(isOn(all, 'header')).toBe(false);
  expect(isOn(more, 'header')).toBe(true);
  expect(isOn(all, 'union_by_name')).toBe(false);
});

test('types are written as a map that DuckDB reads', () => {
  expect(typeMap([{ name: "it's", type: "ENUM('x')" }])).toBe(`{'it''s': 'ENUM(''x'')'}`);
});
