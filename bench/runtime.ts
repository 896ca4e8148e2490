/** An embedded runtime (`createRuntime` on a DuckDB file): rates, processor time and idle latency. */
import type * as Millrace from '../src/client/millrace.ts';
import type { JobHandle, Runtime, TaskDefinition } from '../src/client/millrace.ts';
import { expectCount, fullPath, inBatches, pause } from './cluster/contender.ts';
import { BenchDatabase } from './cluster/database.ts';
import { startGraphile } from './cluster/graphile.ts';
import { Folder } from './cluster/node.ts';
import { figure, quantile, ratio } from './figures.ts';
import type { Benchmark } from './figures.ts';

/** As users run it: what was built, in this thread and in those that it starts, and not sources that are compiled while they load. */
const BUILT = new URL('../dist/client/millrace.js', import.meta.url).href;
const { createRuntime, defineTask } = (await import(BUILT)) as typeof Millrace;

const SLOTS = 8;
const AT_ONCE = 32;
const INPUT_BYTES = 60_000;
const REST_MS = 15;

let startedAtMs = 0;
const noop = defineTask({ name: 'noop', run: () => null });
const stamp = defineTask({ name: 'stamp', run: () => void (startedAtMs = performance.now()) });
const large = defineTask({ name: 'large', run: ({ text }: { text: string }) => text.length });
const steps = defineTask({
  name: 'steps',
  run: async (_input: null, ctx) => {
    for (const name of ['a', 'b', 'c']) await ctx.step(name, () => 1);
    return null;
  },
});

interface Row {
  readonly name: string;
  readonly jobs: (quick: boolean) => number;
  readonly run: (runtime: Runtime, jobs: number) => Promise<unknown>;
  readonly rates: number[];
  /** Of all threads, in microseconds per job. */
  readonly spentUs: number[];
}

const row = (name: string, jobs: [quick: number, whole: number], run: Row['run']): Row => ({
  ...{ name, run, rates: [], spentUs: [] },
  jobs: (quick) => jobs[quick ? 0 : 1],
});

export const runtime: Benchmark = {
  name: 'runtime',
  summary: 'jobs a second and idle latency of createRuntime on DuckDB, against graphile-worker',
  settings: {
    createRuntime: `a DuckDB file, ${SLOTS} slots, default settings, client and handlers in one thread`,
    'graphile-worker default': `1 process, concurrentJobs ${SLOTS}, defaults otherwise`,
    'one by one': `${AT_ONCE} callers, each submits a job and waits for its result`,
  },
  async run(quick, say) {
    const rounds = quick ? 1 : 5;
    const folder = new Folder();
    const database = await BenchDatabase.start('plain');
    const url = await database.create('graphile');
    const graphile = await startGraphile({ url, kind: 'default', workers: 1 });
    const tasks: TaskDefinition[] = [noop, stamp, large, steps];
    const own = await createRuntime({ data: folder.path, slots: SLOTS, tasks });
    const rows = allRows();
    const theirs: number[] = [];
    const latency: { p50: number[]; p99: number[] } = { p50: [], p99: [] };
    try {
      // The first round warms up and is not counted.
      for (let round = 0; round <= rounds; round += 1) {
        for (const each of rows) await measure(each, own, quick, round > 0);
        const jobs = quick ? 300 : 5_000;
        const rate = jobs / (await fullPath(graphile, jobs));
        const millis = await idleLatency(own, quick ? 10 : 100);
        const shown = rows.map(({ name, rates }) => `${name} ${rates.at(-1)?.toFixed(0) ?? '-'}/s`);
        say(`  round ${round} of ${rounds}: ${shown.join(', ')}, graphile ${rate.toFixed(0)}/s`);
        if (round === 0) continue;
        theirs.push(rate);
        latency.p50.push(quantile(millis, 0.5));
        latency.p99.push(quantile(millis, 0.99));
      }
    } finally {
      await own.close();
      await graphile.close();
      await database.stop();
      folder.remove();
    }
    return [
      ...rows.flatMap(({ name, rates, spentUs }) => [
        figure(name, 'jobs/s', rates),
        figure(`${name}, processor time`, 'us', spentUs),
      ]),
      figure('graphile-worker default, submitted and done', 'jobs/s', theirs),
      ratio('no-op jobs in lists, against graphile-worker', rows[0]?.rates ?? [], theirs),
      figure('idle, from submitting to the start of the handler, p50', 'ms', latency.p50),
      figure('idle, from submitting to the start of the handler, p99', 'ms', latency.p99),
    ];
  },
};

function allRows(): readonly Row[] {
  const text = 'x'.repeat(INPUT_BYTES);
  return [
    row('no-op jobs in lists', [300, 10_000], inLists),
    row('no-op jobs one by one', [300, 5_000], (own, jobs) =>
      oneByOne(jobs, AT_ONCE, () => own.submit(noop)),
    ),
    row('jobs of three steps, one at a time', [20, 500], (own, jobs) =>
      oneByOne(jobs, 1, () => own.submit(steps, null)),
    ),
    row(`jobs of three steps, ${AT_ONCE} at a time`, [100, 3_000], (own, jobs) =>
      oneByOne(jobs, AT_ONCE, () => own.submit(steps, null)),
    ),
    row(`jobs with inputs of ${INPUT_BYTES} bytes, one by one`, [100, 2_000], (own, jobs) =>
      oneByOne(jobs, AT_ONCE, () => own.submit(large, { text })),
    ),
  ];
}

async function measure(each: Row, own: Runtime, quick: boolean, counts: boolean): Promise<void> {
  const jobs = each.jobs(quick);
  const before = process.cpuUsage();
  const beganAtMs = performance.now();
  await each.run(own, jobs);
  const seconds = (performance.now() - beganAtMs) / 1_000;
  const { user, system } = process.cpuUsage(before);
  if (!counts) return;
  each.rates.push(jobs / seconds);
  each.spentUs.push((user + system) / jobs);
}

async function inLists(own: Runtime, jobs: number): Promise<void> {
  const ends: Promise<unknown>[] = [];
  await inBatches(jobs, async (size) => {
    const answers = await own.submitAll(Array.from({ length: size }, () => ({ what: noop })));
    for (const answer of answers) {
      if (answer instanceof Error) throw answer;
      ends.push(answer.result());
    }
  });
  expectCount('jobs done', (await Promise.all(ends)).length, jobs);
}

async function oneByOne(
  jobs: number,
  atOnce: number,
  submit: () => Promise<JobHandle<unknown>>,
): Promise<void> {
  let left = jobs;
  const caller = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await (await submit()).result();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
}

async function idleLatency(own: Runtime, samples: number): Promise<readonly number[]> {
  const millis: number[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    await pause(REST_MS);
    const submittedAtMs = performance.now();
    await (await own.submit(stamp)).result();
    millis.push(startedAtMs - submittedAtMs);
  }
  return millis;
}
