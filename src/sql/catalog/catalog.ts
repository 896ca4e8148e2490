/** Resolves table definitions to pinned files with known columns. */
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import { isAbsolute, join, normalize, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import type { PlanningEngine } from '../engine/index.ts';
import { eachOf } from '../../kit/index.ts';
import { mayMention } from '../plan/index.ts';
import type { PinnedTable } from '../plan/index.ts';
import type { CatalogPort, TablesRequest } from './catalog-port.ts';
import type { CatalogContent, CatalogFile } from './catalog-file.ts';
import { Descriptions } from './descriptions.ts';
import { formatByContent, formatByName } from './format.ts';
import { filesBelow, filesOf, fixedPart, isPattern } from './glob.ts';
import { mentionedNames } from './mentions.ts';
import { Pins, readFault } from './pin.ts';
import { PathChecker, checkedPath } from './roots.ts';
import type { Allowed, AllowedFile } from './roots.ts';
import { readTables, tableKey } from './spec.ts';
import type { TableFormat, TableDefinition } from './spec.ts';

export interface CatalogOptions {
  readonly allowed: Allowed;
  /** The same for the tables of the catalog file, which the server's operator names. */
  readonly allowedByFile?: Allowed;
  readonly describe: PlanningEngine['describe'];
  /** Null if only requests name tables. */
  readonly file: CatalogFile | null;
  /** The folder that relative paths of requests start from. */
  readonly folder: string;
  readonly filesMax?: number;
}

const FILES_MAX = 10_000;
/** Tables resolved at the same time. */
const TABLES_AT_ONCE = 4;
const FILES_AT_ONCE = 16;

/** `stats` is set for a regular file that was examined already. */
interface Found {
  readonly path: string;
  readonly stats: BigIntStats | null;
}

interface Wanted {
  readonly table: TableDefinition;
  readonly checker: PathChecker;
  readonly folder: string;
  readonly located: (error: unknown) => unknown;
}

export class Catalog implements CatalogPort {
  readonly #options: CatalogOptions;
  readonly #pins: Pins = new Pins();
  readonly #descriptions: Descriptions;
  /** A catalog may have a thousand tables, and every query asks. */
  readonly #hashes = new WeakMap<CatalogContent, string>();

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#descriptions = new Descriptions(options.describe);
  }

  async resolve(request: TablesRequest, signal: AbortSignal): Promise<readonly PinnedTable[]> {
    const wanted = await this.#wanted(request);
    return eachOf(wanted, TABLES_AT_ONCE, signal, async (each) => {
      try {
        return await this.#pinned(each, signal);
      } catch (error) {
        throw each.located(error);
      }
    });
  }

  async names(tables: unknown): Promise<readonly string[]> {
    const given = tables === undefined ? [] : readTables(tables, '/tables');
    const { tables: others = [] } = (await this.#options.file?.content()) ?? {};
    const taken = new Set(given.map(({ name }) => tableKey(name)));
    const all = [...given, ...others.filter(({ name }) => !taken.has(tableKey(name)))];
    return all.map(({ name }) => name).toSorted();
  }

  async scope(tables: unknown): Promise<string> {
    const given = tables === undefined ? [] : readTables(tables, '/tables');
    const content = await this.#options.file?.content();
    const ofFile = content === undefined ? '' : this.#ofFile(content);
    return hashOf([this.#options.folder, given, ofFile]);
  }

  #ofFile(content: CatalogContent): string {
    const known = this.#hashes.get(content) ?? hashOf([content.folder, content.tables]);
    this.#hashes.set(content, known);
    return known;
  }

  /** The fault of the catalog file, which may explain why a table is not known. */
  get trouble(): string | null {
    return this.#options.file?.trouble ?? null;
  }

  async #wanted({ tables, sql, isEach = false }: TablesRequest): Promise<readonly Wanted[]> {
    const { allowed, allowedByFile = allowed } = this.#options;
    const given = tables === undefined ? [] : readTables(tables, '/tables');
    const asked = { checker: new PathChecker(allowed), folder: this.#options.folder };
    const used = isEach ? given : given.filter(({ name }) => mayMention(sql, name));
    const own = used.map((table): Wanted => {
      return { table, ...asked, located: (error) => error };
    });
    const content = await this.#options.file?.content();
    if (content === undefined) return own;
    const taken = new Set(given.map(({ name }) => tableKey(name)));
    const mentioned = mentionedNames(sql);
    const { folder, located } = content;
    const checker = new PathChecker(allowedByFile);
    const others = content.tables
      .filter(({ name }) => !taken.has(tableKey(name)) && mentioned.has(tableKey(name)))
      .map((table): Wanted => ({ table, checker, folder, located }));
    return [...own, ...others];
  }

  async #pinned({ table, checker, folder }: Wanted, signal: AbortSignal): Promise<PinnedTable> {
    const perPath = await eachOf(table.paths, FILES_AT_ONCE, signal, ({ text, at }) =>
      fieldOf(at, () => this.#filesAt(text, { table, checker, folder }, signal)),
    );
    const found = perPath.flat();
    this.#checkCount(table, found.length);
    return fieldOf(table.at, async () => {
      const files = await eachOf(found, FILES_AT_ONCE, signal, ({ path, stats }) =>
        readable(path, checker.checkedFile(path, stats)),
      );
      const root = sharedRoot(files);
      const paths = files.map(({ path }) => path);
      const format = table.format ?? (await formatOf(paths, signal));
      const seen = files.map(({ stats }) => stats);
      const pins = await this.#pins.pinAll(paths, signal, seen).catch((cause: unknown) => {
        throw isSystemError(cause) ? unreadable(paths, cause) : cause;
      });
      const described = await this.#descriptions.of({ table, format, pins }, signal);
      return { name: table.name, format, root, ...described };
    });
  }

  /** The files that one path or pattern matches. */
  async #filesAt(
    text: string,
    { table, checker, folder }: Pick<Wanted, 'table' | 'checker' | 'folder'>,
    signal: AbortSignal,
  ): Promise<readonly Found[]> {
    const path = absolute(text, folder);
    const { format } = table;
    const { filesMax = FILES_MAX } = this.#options;
    const options = { signal, filesMax };
    const fixed = fixedPart(path);
    const place = checkedPath(fixed, checker.allowed);
    const pattern = place === fixed ? path : join(place, path.slice(fixed.length));
    const own = await lstat(pattern, { bigint: true }).catch(() => null);
    const found = own?.isSymbolicLink() === true ? await stat(pattern).catch(() => null) : own;
    if (found?.isDirectory() === true) {
      const wanted = (file: string): boolean => {
        const kind = formatByName(file);
        return kind !== null && (format === null || kind === format);
      };
      const files = await filesBelow(pattern, wanted, options);
      if (files.length === 0) throw missing(`The folder ${text} has no data files.`);
      return files.map(unseen);
    }
    if (found?.isFile() === true) {
      return [{ path: pattern, stats: own?.isFile() === true ? own : null }];
    }
    if (!isPattern(pattern)) {
      throw missing(
        `There is no file ${text}.`,
        isAbsolute(text) ? undefined : `It was looked for in ${folder}.`,
      );
    }
    const files = await filesOf(pattern, options, true);
    if (files.length === 0) throw missing(`No file matches ${text}.`);
    return files.map(unseen);
  }

  #checkCount({ at, name }: TableDefinition, count: number): void {
    const { filesMax = FILES_MAX } = this.#options;
    if (count <= filesMax) return;
    throw new MillraceError({
      code: 'too_large',
      path: at,
      what: `The table ${name} has ${count} files, and ${filesMax} is the limit.`,
      todo: 'Write fewer and larger files.',
    });
  }
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url');
}

function unseen(path: string): Found {
  return { path, stats: null };
}

function absolute(text: string, folder: string): string {
  if (!/^file:\/\//i.test(text)) return resolve(folder, normalize(text));
  try {
    return fileURLToPath(text);
  } catch (cause) {
    throw new MillraceError({ code: 'bad_input', what: 'This is not a valid file URL.', cause });
  }
}

/** Adds the path of the field to an error that has none. */
async function fieldOf<T>(at: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isMillraceError(error) || error.path !== undefined) throw error;
    const { code, what, why, todo } = error;
    throw new MillraceError({ code, path: at, what, why, todo, cause: error });
  }
}

function readable<T>(path: string, work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    throw isSystemError(cause) ? unreadable([path], cause) : cause;
  });
}

function sharedRoot(files: readonly AllowedFile[]): string | null {
  const [first] = files;
  const root = first?.root ?? null;
  if (files.every((file) => file.root === root)) return root;
  throw new MillraceError({
    code: 'path_refused',
    what: 'The files of one table are below different roots.',
    todo: 'Define two tables, and combine them with UNION ALL.',
  });
}

async function formatOf(paths: readonly string[], signal: AbortSignal): Promise<TableFormat> {
  const formats = await eachOf(paths, FILES_AT_ONCE, signal, async (path) => {
    const format = formatByName(path) ?? (await readable(path, formatByContent(path)));
    if (format !== null) return { path, format };
    throw new MillraceError({
      code: 'bad_input',
      what: `The format of ${path} cannot be determined from its name or content.`,
      todo: 'Set it: {"paths": ..., "format": "parquet", "csv" or "json"}.',
    });
  });
  const [first] = formats;
  if (first === undefined) throw missing('The table has no files.');
  const other = formats.find(({ format }) => format !== first.format);
  if (other === undefined) return first.format;
  throw new MillraceError({
    code: 'schema_mismatch',
    what: `The files have different formats: ${first.path} is ${first.format}, ${other.path} is ${other.format}.`,
    todo: 'Use a pattern that matches one format, or set `format`.',
  });
}

function isSystemError(cause: unknown): boolean {
  return !isMillraceError(cause) && !(cause instanceof DOMException);
}

function unreadable(paths: readonly string[], cause: unknown): MillraceError {
  const path = (cause as NodeJS.ErrnoException).path ?? paths[0] ?? 'A file';
  const why = readFault(cause);
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM') {
    return new MillraceError({ code: 'path_refused', what: `${path}: ${why}.`, cause });
  }
  return missing(`${path}: ${why}.`);
}

function missing(what: string, why?: string): MillraceError {
  return new MillraceError({
    code: 'table_missing',
    what,
    why,
    todo: 'Name files that the server can see.',
  });
}
