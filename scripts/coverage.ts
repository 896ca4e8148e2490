/**
 * Line coverage of `src`, in the test runner and in the processes that tests start.
 *
 * The test runner measures the TypeScript it runs and names every statement of `src`, also of files
 * that no test loads. A started process runs `dist` and leaves V8's own record. A statement that the
 * runner saw unused is looked up there: through the source map to its place in `dist`, then in the
 * innermost range that V8 counted. A line counts as covered when a statement that begins on it is.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { generatedPositionFor, TraceMap } from '@jridgewell/trace-mapping';

/** The one place that says how much of `src` the gate's tests must reach. */
export const minimumLinePercent = 90;

interface Position {
  readonly line: number;
  readonly column: number;
}

/** One file in the test runner's `coverage-final.json`. */
interface MeasuredFile {
  readonly path: string;
  readonly statementMap: Readonly<Record<string, { readonly start: Position }>>;
  readonly s: Record<string, number>;
}

/** One script in a file that Node writes into `NODE_V8_COVERAGE`. */
interface Script {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly Range[] }[];
}

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

export interface RoomCoverage {
  readonly room: string;
  lines: number;
  covered: number;
  readonly uncovered: { readonly path: string; readonly lines: number }[];
}

export function measureCoverage(
  root: string,
  testsFile: string,
  childrenFolder: string,
): RoomCoverage[] {
  const measured = Object.values(readJson<Record<string, MeasuredFile>>(testsFile));
  const files = new Map(measured.map((file) => [relative(root, file.path), file]));
  for (const script of scriptsOf(childrenFolder)) {
    const compiled = compiledFile(root, script.url);
    const file = compiled && files.get(compiled.sourcePath);
    if (compiled && file) addProcess(file, compiled, script);
  }
  return byRoom(files);
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}

function* scriptsOf(folder: string): Generator<Script> {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder))
    yield* readJson<{ result: Script[] }>(join(folder, name)).result;
}

interface CompiledFile {
  readonly sourcePath: string;
  /** The source as its map names it. */
  readonly source: string;
  readonly map: TraceMap;
  /** Offset at which each line of the compiled file begins. */
  readonly lineOffsets: readonly number[];
}

const compiledFiles = new Map<string, CompiledFile | undefined>();

function compiledFile(root: string, url: string): CompiledFile | undefined {
  if (!compiledFiles.has(url)) compiledFiles.set(url, readCompiledFile(root, url));
  return compiledFiles.get(url);
}

function readCompiledFile(root: string, url: string): CompiledFile | undefined {
  if (!url.startsWith(pathToFileURL(join(root, 'dist') + sep).href)) return undefined;
  const path = fileURLToPath(url);
  if (!existsSync(`${path}.map`)) return undefined;
  const map = new TraceMap(readFileSync(`${path}.map`, 'utf8'), `${url}.map`);
  const source = map.resolvedSources[0];
  if (source === undefined) return undefined;
  const lines = readFileSync(path, 'utf8').split('\n');
  let offset = 0;
  const lineOffsets = lines.map((line) => (offset += line.length + 1) - line.length - 1);
  return { sourcePath: relative(root, fileURLToPath(source)), source, map, lineOffsets };
}

function addProcess(file: MeasuredFile, compiled: CompiledFile, script: Script): void {
  const ranges = script.functions.flatMap((each) => each.ranges);
  for (const [id, { start }] of Object.entries(file.statementMap)) {
    if (file.s[id] !== 0) continue;
    const place = generatedPositionFor(compiled.map, { source: compiled.source, ...start });
    if (place.line === null) continue;
    file.s[id] = countAt(ranges, compiled.lineOffsets[place.line - 1]! + place.column);
  }
}

/** Ranges nest; the smallest one around an offset says how often it ran. */
function countAt(ranges: readonly Range[], offset: number): number {
  let innermost: Range | undefined;
  for (const range of ranges) {
    if (range.startOffset > offset || range.endOffset <= offset) continue;
    const size = range.endOffset - range.startOffset;
    if (!innermost || size <= innermost.endOffset - innermost.startOffset) innermost = range;
  }
  return innermost?.count ?? 0;
}

function byRoom(files: ReadonlyMap<string, MeasuredFile>): RoomCoverage[] {
  const rooms = new Map<string, RoomCoverage>();
  for (const [path, file] of files) {
    const room = path.split(sep)[1]!;
    const entry = rooms.get(room) ?? { room, lines: 0, covered: 0, uncovered: [] };
    rooms.set(room, entry);
    const { lines, covered } = linesOf(file);
    entry.lines += lines;
    entry.covered += covered;
    if (covered < lines) entry.uncovered.push({ path, lines: lines - covered });
  }
  return [...rooms.values()].toSorted((a, b) => (a.room < b.room ? -1 : 1));
}

function linesOf(file: MeasuredFile): { lines: number; covered: number } {
  const hits = new Map<number, number>();
  for (const [id, { start }] of Object.entries(file.statementMap)) {
    hits.set(start.line, Math.max(hits.get(start.line) ?? 0, file.s[id] ?? 0));
  }
  return { lines: hits.size, covered: [...hits.values()].filter((count) => count > 0).length };
}

/** Prints a row a room and, when it is not enough, where the missing lines are. */
export function reportCoverage(
  rooms: readonly RoomCoverage[],
  print: (line: string) => void,
): boolean {
  const total = { room: 'src', lines: 0, covered: 0 };
  for (const room of rooms) {
    total.lines += room.lines;
    total.covered += room.covered;
  }
  const percentOf = (part: { lines: number; covered: number }): number =>
    part.lines === 0 ? 100 : (100 * part.covered) / part.lines;

  for (const row of [...rooms, total]) {
    const counts = `${row.covered} of ${row.lines} lines`.padStart(24);
    print(`${row.room.padEnd(14)}${counts}${`${percentOf(row).toFixed(1)} %`.padStart(10)}`);
  }
  const enough = percentOf(total) >= minimumLinePercent;
  if (!enough) {
    print(`Fewer than ${minimumLinePercent} % of the lines are covered. Most are missing in:`);
    const worst = rooms.flatMap((room) => room.uncovered).toSorted((a, b) => b.lines - a.lines);
    for (const { path, lines } of worst.slice(0, 10)) print(`  ${path}: ${lines}`);
  }
  return enough;
}
