/** The tables of these tests, for one test file: written below the system's folder for temporary files, removed after it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { Oracle } from './oracle.ts';
import { writeTables } from './tables.ts';
import type { TestTables } from './tables.ts';
import { SCALE } from './trial.ts';

export interface Scratch {
  readonly tables: TestTables;
  readonly oracle: Oracle;
  /** For further files. */
  readonly folder: string;
}

/** Filled before the first test. */
export function scratch(): Scratch {
  const made: { tables?: TestTables; oracle?: Oracle; folder?: string } = {};
  beforeAll(async () => {
    made.folder = mkdtempSync(join(tmpdir(), 'millrace-sql-'));
    made.tables = await writeTables(made.folder, SCALE);
    made.oracle = await Oracle.open(made.tables.readers);
  });
  afterAll(() => {
    made.oracle?.close();
    if (made.folder !== undefined) rmSync(made.folder, { recursive: true, force: true });
  });
  const there = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('The tables are written before the first test.');
    return value;
  };
  return {
    get tables(): TestTables {
      return there(made.tables);
    },
    get folder(): string {
      return there(made.folder);
    },
    get oracle(): Oracle {
      return there(made.oracle);
    },
  };
}
