/** No-op jobs a second of one embedded node on DuckDB, against graphile-worker as it comes on PostgreSQL. */
import { burnDown, fullPath } from './cluster/contender.ts';
import type { Contender } from './cluster/contender.ts';
import { BenchDatabase } from './cluster/database.ts';
import { startEmbeddedMillrace } from './cluster/embedded-millrace.ts';
import { startGraphile } from './cluster/graphile.ts';
import { figure, ratio } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';

const SLOTS = 8;

interface Entrant {
  readonly contender: Contender;
  readonly full: number[];
  readonly burn: number[];
}

export const embedded: Benchmark = {
  name: 'embedded',
  summary: 'no-op jobs a second of `millrace up` on DuckDB, against graphile-worker as it comes',
  settings: {
    'millrace up': `leader and one worker process with ${SLOTS} slots, default settings`,
    'graphile-worker default': `1 process, concurrentJobs ${SLOTS}, defaults otherwise`,
    postgres: 'fsync on, defaults otherwise',
  },
  async run(quick, say) {
    const jobs = Number(process.env['BENCH_JOBS'] ?? (quick ? 300 : 10_000));
    const rounds = quick ? 1 : 5;
    const database = await BenchDatabase.start('plain');
    const entrants: Entrant[] = [];
    const enter = (contender: Contender): void => {
      entrants.push({ contender, full: [], burn: [] });
    };
    try {
      enter(await startEmbeddedMillrace(SLOTS));
      const url = await database.create('graphile');
      enter(await startGraphile({ url, kind: 'default', workers: 1 }));
      // The first round warms up and is not counted.
      for (let round = 0; round <= rounds; round += 1) {
        for (const { contender, full, burn } of entrants) {
          const fullRate = jobs / (await fullPath(contender, jobs));
          const burnRate = jobs / (await burnDown(contender, jobs));
          const rates = `${fullRate.toFixed(0)}/s, queued ${burnRate.toFixed(0)}/s`;
          say(`  round ${round} of ${rounds}: ${contender.name} ${rates}`);
          if (round === 0) continue;
          full.push(fullRate);
          burn.push(burnRate);
        }
      }
      for (const { contender } of entrants) await contender.audit(jobs * 2 * (rounds + 1));
      return figuresOf(entrants);
    } finally {
      for (const { contender } of entrants) await contender.close();
      await database.stop();
    }
  },
};

function figuresOf(entrants: readonly Entrant[]): readonly Figure[] {
  const [ours, theirs] = entrants;
  const figures = entrants.flatMap(({ contender: { name }, full, burn }) => [
    figure(`${name}, submitted and done`, 'jobs/s', full),
    figure(`${name}, queued and done`, 'jobs/s', burn),
  ]);
  if (ours === undefined || theirs === undefined) return figures;
  return [
    ...figures,
    ratio('submitted and done, against graphile-worker', ours.full, theirs.full),
    ratio('queued and done, against graphile-worker', ours.burn, theirs.burn),
  ];
}
