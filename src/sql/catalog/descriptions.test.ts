import { expect, test } from 'vitest';
import type { TableSource } from '../engine/index.ts';
import { deferred } from '../../kit/index.ts';
import { Descriptions, type Undescribed } from './descriptions.ts';

const { signal } = new AbortController();

function tableOf(path: string): Undescribed {
  return {
    table: {
      name: 't',
      at: '',
      paths: [],
      format: null,
      schema: {},
      hive: null,
      unionByName: false,
    },
    format: 'parquet',
    pins: [{ path, bytes: 1, mtimeNs: '1', footer: 'f' }],
  };
}

test('counts a description once in the cache, even if two callers ask for it at the same time', async () => {
  // Two tables of so many row groups are remembered, three are not.
  const group = { file: 0, rows: 1, min: 3, max: 4 };
  const clusters = [{ column: 'a', groups: Array.from({ length: 90_000 }, () => group) }];
  const asked: string[] = [];
  const bothHaveAsked = deferred();
  const descriptions = new Descriptions(async ({ files }: TableSource) => {
    asked.push(...files);
    if (asked.length === 2) bothHaveAsked.resolve();
    await bothHaveAsked.promise;
    return { columns: [], files: [{ rows: 1, groups: [1] }], clusters, options: '', select: '' };
  });
  const one = tableOf('/one');
  await Promise.all([descriptions.of(one, signal), descriptions.of(one, signal)]);
  await descriptions.of(tableOf('/other'), signal);
  await descriptions.of(one, signal);
  expect(asked).toEqual(['/one', '/one', '/other']);
});
