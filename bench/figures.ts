/** Figures: medians of alternating rounds, printed for people and kept as JSON. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The lowest and the highest round. */
  readonly range?: readonly [number, number];
}

export interface Benchmark {
  readonly name: string;
  readonly summary: string;
  /** What its results are called, if not like itself. */
  readonly file?: string;
  /** What a reader has to know to judge the figures; printed and kept with them. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** `quick` only shows that it runs. Says what it does as it goes. */
  run(quick: boolean, say: (line: string) => void): Promise<readonly Figure[]>;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export function figure(name: string, unit: string, rounds: readonly number[]): Figure {
  return {
    name,
    value: rounded(median(rounds)),
    unit,
    range: [rounded(Math.min(...rounds)), rounded(Math.max(...rounds))],
  };
}

/** The ratio round by round, so that what slows a whole round down cancels out. */
export function ratio(name: string, ours: readonly number[], theirs: readonly number[]): Figure {
  const each = ours.map((value, at) => value / (theirs[at] ?? Number.NaN));
  return figure(name, 'x', each);
}

/** The value below which this share of them lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

export function print(figures: readonly Figure[], say: (line: string) => void): void {
  const width = Math.max(...figures.map(({ name }) => name.length));
  for (const { name, value, unit, range } of figures) {
    const spread = range === undefined ? '' : `  (${range[0]} to ${range[1]})`;
    say(`  ${name.padEnd(width)}  ${String(value).padStart(8)} ${unit}${spread}`);
  }
}

export function keep(
  { name, file = name, settings = {} }: Benchmark,
  figures: readonly Figure[],
  versions: object,
): void {
  const folder = new URL('results/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  const machine = {
    cores: cpus().length,
    processor: cpus()[0]?.model,
    node: process.version,
    ...versions,
  };
  const text = JSON.stringify(
    { name, measuredAt: new Date().toISOString(), machine, settings, figures },
    null,
    2,
  );
  // Short lists on one line, as the formatter wants them.
  const short = text.replaceAll(/\[\s+(\S+)\s+(\S+)\s+\]/g, '[$1 $2]');
  writeFileSync(new URL(`${file}.json`, folder), `${short}\n`);
}
