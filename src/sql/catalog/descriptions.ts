/** The columns of files, as the engine describes them. Descriptions are cached by the identity of the files. */
import { quotedText } from '../plan/index.ts';
import { LruCache } from '../../kit/index.ts';
import { createHash } from 'node:crypto';
import { MillraceError, didYouMean, isMillraceError } from '../../scheduler/core/index.ts';
import type { PlanningEngine, TableDescription } from '../engine/index.ts';
import type { PinnedTable } from '../plan/index.ts';
import { hiveKeys } from './hive.ts';
import type { Pin } from './pin.ts';
import { pointerToken } from './spec.ts';
import type { TableFormat, TableDefinition } from './spec.ts';

export interface Undescribed {
  readonly table: TableDefinition;
  readonly format: TableFormat;
  readonly pins: readonly Pin[];
}

type Described = Pick<
  PinnedTable,
  'files' | 'columns' | 'options' | 'select' | 'clusters' | 'ascending' | 'lines'
>;

/** Files, and row groups of clusters, over all cached descriptions. */
const PARTS_MAX = 200_000;

export class Descriptions {
  readonly #describe: PlanningEngine['describe'];
  readonly #known = new LruCache<string, TableDescription>({
    weightMax: PARTS_MAX,
    weightOf: partsOf,
  });

  constructor(describe: PlanningEngine['describe']) {
    this.#describe = describe;
  }

  async of(asked: Undescribed, signal: AbortSignal): Promise<Described> {
    const key = keyOf(asked);
    const description = this.#known.get(key) ?? (await this.#ask(asked, signal));
    this.#known.set(key, description);
    const files = asked.pins.map((pin, at) => {
      const { rows = null, groups = [] } = description.files[at] ?? {};
      return { ...pin, rows, groups };
    });
    const { columns, options, select, clusters, ascending = [], lines } = description;
    return {
      ...{ files, columns, options, select },
      ...(clusters.length === 0 ? {} : { clusters }),
      ...(ascending.length === 0 ? {} : { ascending }),
      ...(lines === undefined ? {} : { lines }),
    };
  }

  async #ask(asked: Undescribed, signal: AbortSignal): Promise<TableDescription> {
    const { table, pins, format } = asked;
    const files = pins.map(({ path }) => path);
    checkHive(table, files);
    const source = { format, files, options: optionsOf(table), types: table.schema };
    return this.#describe(source, signal).catch((error: unknown) => {
      throw asMismatch(error);
    });
  }
}

function partsOf({ files, clusters, ascending = [] }: TableDescription): number {
  const all = [...clusters, ...ascending];
  return all.reduce((sum, { groups }) => sum + groups.length, files.length);
}

function keyOf({ table, format, pins }: Undescribed): string {
  const { schema, hive, unionByName } = table;
  const hash = createHash('sha256').update(JSON.stringify({ format, schema, hive, unionByName }));
  for (const { path, bytes, mtimeNs, footer } of pins) {
    hash.update(`\0${path}\0${bytes}\0${mtimeNs}\0${footer}`);
  }
  return hash.digest('base64');
}

/** The options that the user gave; the engine adds those that follow from the files. */
function optionsOf({ hive, unionByName }: TableDefinition): string {
  const options: string[] = [];
  if (hive !== null) options.push(`hive_partitioning = ${hive !== false}`);
  if (typeof hive === 'object' && hive !== null && Object.keys(hive).length > 0) {
    const types = Object.entries(hive).map(([key, type]) => `${quotedText(key)}: ${type}`);
    options.push(`hive_types = {${types.join(', ')}}`);
  }
  if (unionByName) options.push('union_by_name = true');
  return options.join(', ');
}

function checkHive({ hive, at }: TableDefinition, paths: readonly string[]): void {
  if (hive === null || hive === false) return;
  const keys = hiveKeys(paths);
  if (keys.length === 0) {
    throw new MillraceError({
      code: 'schema_mismatch',
      path: `${at}/hive`,
      what: 'The files are not all in folders with the same keys (KEY=VALUE).',
      todo: 'Leave `hive` out, or name files that do.',
    });
  }
  for (const key of hive === true ? [] : Object.keys(hive)) {
    if (keys.includes(key)) continue;
    throw new MillraceError({
      code: 'schema_mismatch',
      path: `${at}/hive/${pointerToken(key)}`,
      what: `No folder has the key '${key}'.${didYouMean(key, keys)}`,
      why: `The keys are ${keys.join(', ')}.`,
    });
  }
}

/** The files are at fault, not the request. */
function asMismatch(error: unknown): unknown {
  if (!isMillraceError(error, 'bad_input')) return error;
  const { what, why, todo } = error;
  return new MillraceError({ code: 'schema_mismatch', what, why, todo, cause: error });
}
