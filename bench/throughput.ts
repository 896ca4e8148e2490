/** No-op jobs a second through a whole cluster, against graphile-worker on the same server. */
import postgres from 'postgres';
import { startPostgres } from '../test/fixture/postgres-server.ts';
import { burnDown, fullPath } from './cluster/contender.ts';
import type { Contender } from './cluster/contender.ts';
import { startGraphile } from './cluster/graphile.ts';
import { startMillrace } from './cluster/millrace.ts';
import { figure, ratio } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';

const WORKERS = 2;
const SLOTS = 24;

interface Rates {
  readonly full: number[];
  readonly burn: number[];
}

export const throughput: Benchmark = {
  name: 'throughput',
  summary: 'no-op jobs a second through leader, PostgreSQL and two workers, against graphile-worker',
  async run(quick, say) {
    const jobs = Number(process.env['BENCH_JOBS'] ?? (quick ? 500 : 30_000));
    const server = await startPostgres('durable');
    const sql = postgres(server.url, { max: 1 });
    const open: Contender[] = [];
    try {
      await sql`create database millrace`;
      await sql`create database graphile`;
      const at = (name: string): string => server.url.replace(/postgres$/, name);
      open.push(await startMillrace({ url: at('millrace'), workers: WORKERS, slots: SLOTS }));
      if (process.env['BENCH_ALONE'] === undefined) {
        open.push(await startGraphile(at('graphile'), 'tuned', WORKERS));
      }
      return await compare(open, { jobs, rounds: quick ? 1 : 5 }, say);
    } finally {
      for (const contender of open) await contender.close();
      await sql.end();
      await server.stop();
    }
  },
};

async function compare(
  contenders: readonly Contender[],
  { jobs, rounds }: { readonly jobs: number; readonly rounds: number },
  say: (line: string) => void,
): Promise<readonly Figure[]> {
  const rates: Rates[] = contenders.map(() => ({ full: [], burn: [] }));
  // The first round warms up and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [at, contender] of contenders.entries()) {
      const full = jobs / (await fullPath(contender, jobs));
      const burn = jobs / (await burnDown(contender, jobs));
      say(`  round ${round}: ${contender.name} ${full.toFixed(0)}/s, queued ${burn.toFixed(0)}/s`);
      if (round === 0) continue;
      rates[at]?.full.push(full);
      rates[at]?.burn.push(burn);
    }
  }
  const [ours, theirs] = rates;
  if (ours === undefined) return [];
  const own = [
    figure('jobs a second, handed in and done', '/s', ours.full),
    figure('jobs a second, queued and done', '/s', ours.burn),
  ];
  if (theirs === undefined) return own;
  return [
    ...own,
    figure('graphile-worker tuned, handed in and done', '/s', theirs.full),
    figure('graphile-worker tuned, queued and done', '/s', theirs.burn),
    ratio('handed in and done, against graphile-worker', ours.full, theirs.full),
    ratio('queued and done, against graphile-worker', ours.burn, theirs.burn),
  ];
}
