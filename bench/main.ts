/**
 * `npm run bench -- NAME|all [--quick]`: runs benchmarks, prints their figures and keeps them in
 * `bench/results/NAME.json`. Fails only when a run fails, never for a ratio.
 */
import { readFileSync } from 'node:fs';
import { print, keep } from './figures.ts';
import type { Benchmark } from './figures.ts';
import { scheduler } from './scheduler.ts';
import { stores } from './stores.ts';
import { throughput } from './throughput.ts';

const benchmarks: readonly Benchmark[] = [scheduler, stores, throughput];

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const words = process.argv.slice(2);
const isQuick = words.includes('--quick');
const names = words.filter((word) => !word.startsWith('--'));
const chosen = benchmarks.filter(({ name }) => names.includes(name) || names.includes('all'));

if (chosen.length === 0) {
  say('Name a benchmark, or `all`; --quick only shows that they run.');
  for (const { name, summary } of benchmarks) say(`  ${name.padEnd(12)} ${summary}`);
  process.exitCode = 2;
}
for (const benchmark of chosen) {
  const { name, summary } = benchmark;
  say(`${name}: ${summary}`);
  const figures = await benchmark.run(isQuick, say);
  print(figures, say);
  // A quick run measures nothing worth keeping.
  if (!isQuick) keep(name, figures, versions());
}

function versions(): object {
  const file = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const { version, dependencies } = JSON.parse(file) as {
    readonly version: string;
    readonly dependencies: Readonly<Record<string, string>>;
  };
  return {
    millrace: version,
    duckdb: dependencies['@duckdb/node-api'],
    postgresDriver: dependencies['postgres'],
  };
}
