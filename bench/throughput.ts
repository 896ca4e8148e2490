/** No-op jobs a second through a whole cluster, against graphile-worker and bare SQL on the same server. */
import { burnDown, fullPath } from './cluster/contender.ts';
import type { Contender } from './cluster/contender.ts';
import { BenchDatabase } from './cluster/database.ts';
import { startGraphile } from './cluster/graphile.ts';
import { startMillrace } from './cluster/millrace.ts';
import { canWeigh, cpuSeconds } from './cluster/proc.ts';
import { startRaw } from './cluster/raw.ts';
import { figure, ratio } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';

const WORKERS = 2;
const SLOTS = 24;
/** Tables that rows come to and go from slow down from round to round, and a cluster gets quicker: a few rounds would not tell. */
const ROUNDS = 9;

/** One contender with what was measured of it, a number a round. */
interface Entrant {
  readonly contender: Contender;
  readonly database: string;
  submitted: number;
  readonly full: number[];
  readonly burn: number[];
  readonly walBytes: number[];
  /** Microseconds of the processor a job, by what the processes do. */
  readonly cpu: Map<string, number[]>;
  readonly statements: number[];
}

export const throughput: Benchmark = {
  name: 'throughput',
  summary:
    'no-op jobs a second through leader, PostgreSQL and two workers, against graphile-worker',
  settings: {
    'all processes': 'Node.js as it comes, no NODE_OPTIONS',
    millrace: `1 leader, ${WORKERS} workers with ${SLOTS} slots, jobs over gRPC`,
    'millrace-http': 'the same, jobs by the HTTP client that is shipped',
    'millrace, keep none': 'nothing remains of a job, as with graphile-worker, but for its events',
    'graphile-worker tuned': `${WORKERS} processes, concurrentJobs 24, localQueue 500, completeJobBatchDelay 0`,
    'hand-written SQL': `one table, ${WORKERS} processes, 500 a batch: lease, then complete`,
    submitting: '500 jobs a call, 2 calls at a time, by the client of each',
    postgres: 'fsync on, defaults otherwise',
  },
  async run(quick, say) {
    const jobs = Number(process.env['BENCH_JOBS'] ?? (quick ? 500 : 30_000));
    const database = await BenchDatabase.start('counted');
    const entrants: Entrant[] = [];
    const enter = async (
      name: string,
      start: (url: string) => Promise<Contender>,
    ): Promise<void> => {
      const contender = await start(await database.create(name));
      entrants.push({ contender, database: name, submitted: 0, ...nothingMeasured() });
    };
    try {
      await enter('millrace', (url) => startMillrace({ url, workers: WORKERS, slots: SLOTS }));
      await enter('millrace_http', (url) =>
        startMillrace({ url, workers: WORKERS, slots: SLOTS, over: 'http' }),
      );
      await enter('millrace_unkept', (url) =>
        startMillrace({ url, workers: WORKERS, slots: SLOTS, keep: 'none' }),
      );
      if (process.env['BENCH_ALONE'] === undefined) {
        await enter('graphile', (url) => startGraphile({ url, kind: 'tuned', workers: WORKERS }));
        await enter('raw', (url) => startRaw(url, WORKERS));
      }
      await compete(entrants, database, { jobs, rounds: quick ? 1 : ROUNDS }, say);
      for (const { contender, submitted } of entrants) await contender.audit(submitted);
      return figuresOf(entrants);
    } finally {
      for (const { contender } of entrants) await contender.close();
      await database.stop();
    }
  },
};

function nothingMeasured(): Pick<Entrant, 'full' | 'burn' | 'walBytes' | 'cpu' | 'statements'> {
  return { full: [], burn: [], walBytes: [], cpu: new Map(), statements: [] };
}

async function compete(
  entrants: readonly Entrant[],
  database: BenchDatabase,
  { jobs, rounds }: { readonly jobs: number; readonly rounds: number },
  say: (line: string) => void,
): Promise<void> {
  // The first round warms up and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const entrant of entrants) {
      const { contender, full, burn } = entrant;
      const weigh = round === 0 ? null : await scales(entrant, database, jobs);
      const fullRate = jobs / (await fullPath(contender, jobs));
      await weigh?.();
      const burnRate = jobs / (await burnDown(contender, jobs));
      entrant.submitted += jobs * 2;
      const rates = `${fullRate.toFixed(0)}/s, queued ${burnRate.toFixed(0)}/s`;
      say(`  round ${round} of ${rounds}: ${contender.name} ${rates}`);
      if (round === 0) continue;
      full.push(fullRate);
      burn.push(burnRate);
    }
  }
  if (process.env['BENCH_WAL'] !== undefined) await sayWal(entrants, database, jobs, say);
  // Apart from the rounds that are timed: to count costs time.
  await database.countStatements(true);
  for (const entrant of entrants) {
    await database.countStatements(true);
    await fullPath(entrant.contender, jobs);
    entrant.submitted += jobs;
    entrant.statements.push((await database.statements(entrant.database)) / jobs);
  }
  await database.countStatements(false);
}

const WAL_PARTS = 12;

/** What the WAL of a job is made of, in a round of its own. */
async function sayWal(
  entrants: readonly Entrant[],
  database: BenchDatabase,
  jobs: number,
  say: (line: string) => void,
): Promise<void> {
  for (const entrant of entrants) {
    const from = await database.walPosition();
    await fullPath(entrant.contender, jobs);
    entrant.submitted += jobs;
    const parts = await database.walAccount(entrant.database, from);
    say(`  WAL of ${entrant.contender.name}, bytes a job:`);
    for (const { what, bytes } of parts.slice(0, WAL_PARTS))
      say(`    ${(bytes / jobs).toFixed(1).padStart(6)} ${what}`);
  }
}

/** Takes the counters now and, when called, what they have grown by a job. */
async function scales(
  { contender, walBytes, cpu }: Entrant,
  database: BenchDatabase,
  jobs: number,
): Promise<() => Promise<void>> {
  const clocks: [string, () => number][] = Object.entries(contender.processes).map(
    ([role, pids]) => [role, () => cpuSeconds(pids)],
  );
  clocks.push(['who submits', () => cpuSeconds([process.pid])]);
  clocks.push(['PostgreSQL', () => database.cpuSeconds()]);
  const wal = await database.walBytes();
  const before = clocks.map(([, read]) => read());
  return async () => {
    walBytes.push(((await database.walBytes()) - wal) / jobs);
    if (!canWeigh) return;
    for (const [at, [role, read]] of clocks.entries()) {
      const micros = ((read() - (before[at] ?? 0)) * 1e6) / jobs;
      cpu.set(role, [...(cpu.get(role) ?? []), micros]);
    }
  };
}

function figuresOf(entrants: readonly Entrant[]): readonly Figure[] {
  const [grpc, http, unkept, graphile, raw] = entrants;
  const figures = entrants.flatMap(({ contender: { name }, full, burn }) => [
    figure(`${name}, submitted and done`, 'jobs/s', full),
    figure(`${name}, queued and done`, 'jobs/s', burn),
  ]);
  for (const other of [graphile, raw]) {
    for (const ours of [grpc, http, unkept]) {
      if (ours === undefined || other === undefined) continue;
      const names = `${ours.contender.name} / ${other.contender.name}`;
      figures.push(ratio(`submitted and done, ${names}`, ours.full, other.full));
      figures.push(ratio(`queued and done, ${names}`, ours.burn, other.burn));
    }
  }
  for (const { contender, walBytes, statements, cpu } of entrants) {
    const { name } = contender;
    figures.push(figure(`${name}, WAL a job`, 'bytes', walBytes));
    figures.push(figure(`${name}, statements a job`, '', statements));
    for (const [role, micros] of cpu)
      figures.push(figure(`${name}, CPU a job, ${role}`, 'us', micros));
  }
  return figures;
}
