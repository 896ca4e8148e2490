/**
 * Path patterns with DuckDB's rules: `*`, `?` and `[a-z]` within one path segment (including names that begin with a
 * dot), and `**` once, for any number of folders, without following links. Braces are ordinary characters. There are
 * two differences: brackets match a character, where DuckDB matches a byte, and folders never match, where DuckDB
 * returns some and then cannot read them.
 */
import { readdir, stat } from 'node:fs/promises';
import type { Dirent } from 'node:fs';
import { join, parse, sep } from 'node:path';
import { MillraceError } from '../../scheduler/core/index.ts';

export interface GlobOptions {
  readonly signal: AbortSignal;
  /** More files than this are refused. */
  readonly filesMax: number;
}

const MARKS = /[*?[]/;
const ANY_FOLDERS = '**';
/** Folder entries that may be examined for each file allowed. */
const ENTRIES_PER_FILE = 20;

export function isPattern(path: string): boolean {
  return MARKS.test(path);
}

/** The path segments before the first wildcard. */
export function fixedPart(pattern: string): string {
  const { root } = parse(pattern);
  const parts = pattern.slice(root.length).split(sep);
  const first = parts.findIndex(isPattern);
  return join(root, ...(first < 0 ? parts : parts.slice(0, first)));
}

/**
 * The files that an absolute pattern matches, sorted. A file with exactly that name is the only match; `isNone` says
 * that there is none.
 */
export async function filesOf(
  pattern: string,
  options: GlobOptions,
  isNone: boolean = false,
): Promise<readonly string[]> {
  if (!isNone && (await isFile(pattern))) return [pattern];
  const { root } = parse(pattern);
  const parts = pattern.slice(root.length).split(sep);
  if (parts.filter((part) => part === ANY_FOLDERS).length > 1) throw twice(pattern);
  const walk = new Walk(pattern, options);
  await walk.go(root, parts);
  return walk.found.toSorted();
}

/** All files below a folder that `wanted` accepts, sorted. */
export async function filesBelow(
  folder: string,
  wanted: (path: string) => boolean,
  options: GlobOptions,
): Promise<readonly string[]> {
  const walk = new Walk(folder, options, wanted);
  await walk.go(folder, [ANY_FOLDERS]);
  return walk.found.toSorted();
}

class Walk {
  readonly found: string[] = [];
  readonly #pattern: string;
  readonly #options: GlobOptions;
  readonly #wanted: (path: string) => boolean;
  #entries = 0;

  constructor(pattern: string, options: GlobOptions, wanted?: (path: string) => boolean) {
    this.#pattern = pattern;
    this.#options = options;
    this.#wanted = wanted ?? ((): boolean => true);
  }

  async go(folder: string, parts: readonly string[]): Promise<void> {
    const [part = '', ...rest] = parts;
    if (part === ANY_FOLDERS) return this.#anyFolders(folder, rest);
    if (!isPattern(part)) {
      const path = join(folder, part);
      if (rest.length > 0) return this.go(path, rest);
      if (await isFile(path)) this.#add(path);
      return;
    }
    const fits = partMatcher(part);
    for (const entry of await this.#list(folder)) {
      if (!fits(entry.name)) continue;
      const path = join(folder, entry.name);
      if (rest.length > 0) {
        if (!entry.isFile()) await this.go(path, rest);
      } else if (entry.isFile() || (entry.isSymbolicLink() && (await isFile(path)))) {
        this.#add(path);
      }
    }
  }

  async #anyFolders(folder: string, rest: readonly string[]): Promise<void> {
    if (rest.length > 0) await this.go(folder, rest);
    for (const entry of await this.#list(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) await this.#anyFolders(path, rest);
      else if (rest.length === 0 && (entry.isFile() || (await isFile(path)))) this.#add(path);
    }
  }

  async #list(folder: string): Promise<Dirent[]> {
    const { signal, filesMax } = this.#options;
    signal.throwIfAborted();
    const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
      // A name that is not a folder has nothing below it; an unreadable folder may have.
      const { code } = cause as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return [];
      throw unreadable(folder, cause);
    });
    this.#entries += entries.length;
    if (this.#entries > filesMax * ENTRIES_PER_FILE) throw tooMany(this.#pattern, filesMax);
    return entries;
  }

  #add(path: string): void {
    if (!this.#wanted(path)) return;
    this.found.push(path);
    const { filesMax } = this.#options;
    if (this.found.length > filesMax) throw tooMany(this.#pattern, filesMax);
  }
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found?.isFile() ?? false;
}

type Piece =
  | { readonly kind: 'one'; readonly fits: (char: string) => boolean }
  | { readonly kind: 'many' };

/** Matches a name against one path segment of a pattern, in time at most proportional to name times pattern. */
export function partMatcher(part: string): (name: string) => boolean {
  const pieces = piecesOf(Array.from(part));
  return (name) => {
    const chars = Array.from(name);
    let [piece, char] = [0, 0];
    /** The position of the last `*`, and how far it has matched. */
    let [star, taken] = [-1, 0];
    while (char < chars.length) {
      const next = pieces[piece];
      if (next?.kind === 'one' && next.fits(chars[char] ?? '')) {
        piece += 1;
        char += 1;
      } else if (next?.kind === 'many') {
        [star, taken] = [piece, char];
        piece += 1;
      } else if (star >= 0) {
        taken += 1;
        [piece, char] = [star + 1, taken];
      } else return false;
    }
    return pieces.slice(piece).every(({ kind }) => kind === 'many');
  };
}

function piecesOf(chars: readonly string[]): readonly Piece[] {
  const pieces: Piece[] = [];
  // After the last `]` no set can end, so thousands of `[` need not each search to the end.
  const last = chars.lastIndexOf(']');
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? '';
    const end = char === '[' && at < last ? closing(chars, at) : -1;
    if (char === '*') pieces.push({ kind: 'many' });
    else if (char === '?') pieces.push({ kind: 'one', fits: () => true });
    else if (end > 0) {
      pieces.push({ kind: 'one', fits: setOf(chars.slice(at + 1, end)) });
      at = end;
    } else {
      if (char === '\\' && at + 1 < chars.length) at += 1;
      const exact = chars[at];
      pieces.push({ kind: 'one', fits: (given) => given === exact });
    }
  }
  return pieces;
}

/** The end of a set: a `]` right at its beginning is one of its characters. */
function closing(chars: readonly string[], open: number): number {
  const first = chars[open + 1] === '!' ? open + 2 : open + 1;
  return chars.indexOf(']', first + 1);
}

function setOf(chars: readonly string[]): (char: string) => boolean {
  const isNegated = chars[0] === '!';
  const ranges: [string, string][] = [];
  for (let at = isNegated ? 1 : 0; at < chars.length; at += 1) {
    const from = chars[at] ?? '';
    const to = chars[at + 1] === '-' ? chars[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return (char) => ranges.some(([from, to]) => from <= char && char <= to) !== isNegated;
}

function twice(pattern: string): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: `${pattern} has ** twice.`,
    todo: 'Use it once: it stands for any number of folders.',
  });
}

function unreadable(folder: string, cause: unknown): MillraceError {
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  return new MillraceError({
    code: 'path_refused',
    what: `The folder ${folder} cannot be listed (${code}).`,
    todo: 'Give the server access to it, or use a pattern that does not match it.',
    cause,
  });
}

function tooMany(pattern: string, filesMax: number): MillraceError {
  return new MillraceError({
    code: 'too_large',
    what: `${pattern} matches more than ${filesMax} files, which is the limit for a table.`,
    todo: 'Use a narrower pattern, or write fewer and larger files.',
  });
}
