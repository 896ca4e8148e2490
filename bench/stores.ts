/** Transitions a second through each store, against the same rows written by hand in the same run. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { instant } from '../src/scheduler/core/index.ts';
import {
  openDuckdbStore,
  openMemoryStore,
  openPostgresStore,
} from '../src/scheduler/store/index.ts';
import { startPostgres } from '../test/rig/postgres-server.ts';
import { newCounters, nextCycle } from './cycle.ts';
import type { Counters } from './cycle.ts';
import { figure, ratio } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';
import { RawDuckdb } from './subjects/raw-duckdb.ts';
import { RawPostgres } from './subjects/raw-postgres.ts';
import { storeSubject } from './subjects/subject.ts';
import type { Subject } from './subjects/subject.ts';

const BATCH = 500;

export const stores: Benchmark = {
  name: 'stores',
  summary: 'full task cycles a second through each store, against hand-written SQL',
  async run(quick, say) {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
    const server = await startPostgres('durable');
    try {
      const subjects = [
        await storeSubject(openMemoryStore({ now: () => instant(Date.now()) })),
        await storeSubject(await openDuckdbStore({ path: join(folder, 'store.duckdb') })),
        await RawDuckdb.open(join(folder, 'raw.duckdb')),
        await storeSubject(await openPostgresStore({ url: server.url, migrate: true })),
        await RawPostgres.open(server.url),
      ];
      const figures = await compare(subjects, quick, say);
      for (const subject of subjects) await subject.close();
      return figures;
    } finally {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function compare(
  subjects: readonly Subject[],
  quick: boolean,
  say: (line: string) => void,
): Promise<readonly Figure[]> {
  const rounds = quick ? 1 : 5;
  const cycles = quick ? 2 : 20;
  const counters = subjects.map(newCounters);
  const rates: number[][] = subjects.map(() => []);
  // The first round warms up and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [at, subject] of subjects.entries()) {
      const rate = await cyclesPerSecond(subject, counters[at] as Counters, cycles);
      if (round > 0) rates[at]?.push(rate);
    }
    say(`  round ${round} of ${rounds}`);
  }
  const [, duckdb = [], rawDuckdb = [], postgres = [], rawPostgres = []] = rates;
  const figures = subjects.map((subject, at) => figure(subject.name, 'tasks/s', rates[at] ?? []));
  figures.push(
    ratio('duckdb / hand-written', duckdb, rawDuckdb),
    ratio('postgres / hand-written', postgres, rawPostgres),
  );
  for (const [at, subject] of subjects.entries()) {
    const spentMs = await smallCommits(subject, counters[at] as Counters, quick ? 5 : 100);
    figures.push(figure(`${subject.name}, commit of one task`, 'ms', spentMs));
  }
  return figures;
}

/** Counts only the time in `commit`: making the rows is not the store's work. */
async function cyclesPerSecond(
  subject: Subject,
  counters: Counters,
  cycles: number,
): Promise<number> {
  let spentMs = 0;
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    for (const batch of nextCycle(counters, BATCH)) {
      const startedMs = performance.now();
      await subject.commit(batch);
      spentMs += performance.now() - startedMs;
    }
  }
  return (cycles * BATCH * 1_000) / spentMs;
}

async function smallCommits(
  subject: Subject,
  counters: Counters,
  cycles: number,
): Promise<readonly number[]> {
  const spentMs: number[] = [];
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    for (const batch of nextCycle(counters, 1)) {
      const startedMs = performance.now();
      await subject.commit(batch);
      spentMs.push(performance.now() - startedMs);
    }
  }
  return spentMs;
}
