import { expect, test } from 'vitest';
import type { FragmentRequest } from '../engine.ts';
import { fragmentCall } from './fragment-script.ts';

const PIN = { path: '/t.parquet', bytes: 100, mtimeNs: '1', footer: 'f', rows: 9 };

function request(given: Partial<FragmentRequest> = {}, inputs: readonly string[] = []) {
  const order: FragmentRequest = {
    fragment: {
      sql: 'SELECT c0 FROM t0',
      columns: [{ name: 'c0', type: 'BIGINT' }],
      scans: [
        {
          relation: 't0',
          table: 't',
          files: null,
          rows: 'own',
          reader: { format: 'parquet', options: '' },
          columns: [{ source: 'a', type: 'BIGINT' }],
        },
      ],
      inputs: [],
      tables: [],
    },
    output: { kind: 'whole' },
    session: { timeZone: 'UTC', now: '2026-11-15 12:00:00+00' },
    ranges: { t0: [{ ...PIN, from: 0, to: 5 }] },
    inputs: inputs.length === 0 ? {} : { x0: inputs },
    folder: '/out',
    ...given,
  };
  return fragmentCall(order, '/own').sandbox;
}

const pinned = (pin: Partial<typeof PIN>): Partial<FragmentRequest> => ({
  ranges: { t0: [{ ...PIN, ...pin, from: null, to: null }] },
});

test('the files of a fragment are pinned by what identifies them, and not by their rows', () => {
  const [file] = request().files;
  expect(file).toMatchObject({ path: PIN.path });
  expect(request(pinned({})).files).toEqual([file]);
  for (const other of [{ bytes: 101 }, { mtimeNs: '2' }, { footer: 'g' }])
    expect(request(pinned(other)).files[0]?.pin).not.toBe(file?.pin);
});

test('footers are kept of pinned files, but not where other files are read, or where there are too many of them', () => {
  expect(request().keepsFooters).toBe(true);
  // Outputs of other fragments.
  expect(request({}, ['/in.parquet']).keepsFooters).toBeUndefined();
  expect(request(pinned({ bytes: 2 ** 31 })).keepsFooters).toBeUndefined();
  const ranges = Array.from({ length: 33 }, (_, at) => ({
    ...{ ...PIN, path: `/t${at}.parquet` },
    ...{ from: null, to: null },
  }));
  expect(request({ ranges: { t0: ranges } }).keepsFooters).toBeUndefined();
});
