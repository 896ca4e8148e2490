/** What a long queue costs: tasks a second, memory, and the time that a new leader needs to take over. */
import postgres from 'postgres';
import { HttpClient } from '../src/client/index.ts';
import { pause } from './cluster/contender.ts';
import { BenchDatabase } from './cluster/database.ts';
import {
  Folder,
  GrpcSubmitter,
  jobOf,
  newPlace,
  startLeader,
  startWorker,
} from './cluster/node.ts';
import type { Place, RunningNode } from './cluster/node.ts';
import { canWeigh, rssBytes } from './cluster/proc.ts';
import { figure, ratio } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';

const SLOTS = 24;
const LOOK_EVERY_MS = 20;
const DOCUMENT = jobOf('echo', { id: 1 });

interface Sizes {
  readonly few: number;
  readonly many: number;
  /** Worked off in a round, after as many as `warmUp`. */
  readonly slice: number;
  readonly warmUp: number;
  readonly rounds: number;
}

export const growth: Benchmark = {
  name: 'growth',
  summary:
    'tasks a second with a long queue against a short one; memory; take-over of a long queue',
  settings: {
    cluster: `1 leader, 1 worker with ${SLOTS} slots that starts anew for each round`,
    postgres: 'fsync on, defaults otherwise',
    memory: 'RSS of the leader, as the system sees it, garbage included',
    'take-over': 'kill -9 of the leader, another one stands by; until it accepts a job',
  },
  async run(quick, say) {
    const sizes: Sizes = quick
      ? { few: 500, many: 8_000, slice: 2_500, warmUp: 100, rounds: 1 }
      : { few: 10_000, many: 1_000_000, slice: 20_000, warmUp: 5_000, rounds: 3 };
    const many = Number(process.env['BENCH_JOBS'] ?? sizes.many);
    const database = await BenchDatabase.start('plain');
    const folder = new Folder();
    const open: Queue[] = [];
    try {
      for (const name of ['few', 'many']) {
        open.push(await Queue.open(await database.create(name), folder));
      }
      const [short, long] = open as [Queue, Queue];
      return await measure(short, long, { ...sizes, many }, say);
    } finally {
      for (const queue of open) await queue.close();
      await database.stop();
      folder.remove();
    }
  },
};

async function measure(
  short: Queue,
  long: Queue,
  sizes: Sizes,
  say: (line: string) => void,
): Promise<readonly Figure[]> {
  const { few, many, slice, warmUp, rounds } = sizes;
  await short.fill(few);
  const emptyBytes = long.leaderBytes();
  const startedAt = performance.now();
  await long.fill(many);
  const fillSeconds = (performance.now() - startedAt) / 1_000;
  const heldBytes = (long.leaderBytes() - emptyBytes) / many;
  say(`  ${many} submitted within ${fillSeconds.toFixed(1)} s`);

  const slow: number[] = [];
  const fast: number[] = [];
  // The first round warms up and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    await short.fill(few + slice + warmUp);
    const shortRate = await short.burn(warmUp, slice);
    await long.fill(many);
    const longRate = await long.burn(warmUp, slice);
    const text = `short ${shortRate.toFixed(0)}/s, long ${longRate.toFixed(0)}/s`;
    say(`  round ${round} of ${rounds}: ${text}`);
    if (round === 0) continue;
    fast.push(shortRate);
    slow.push(longRate);
  }
  await long.fill(many);
  const takeOvers: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    takeOvers.push(await long.takeOver());
    say(`  take-over ${round} of ${rounds}: ${takeOvers.at(-1)?.toFixed(2)} s`);
  }
  // It serves at once and loads the rest meanwhile.
  const loadSeconds = (takeOvers.at(-1) ?? 0) + (await long.loaded(many));
  const reloadedBytes = (long.leaderBytes() - emptyBytes) / many;
  await long.audit();
  await short.audit();
  const figures = [
    figure(`${slice} tasks, at least ${few} more queued`, 'tasks/s', fast),
    figure(`${slice} tasks, about ${many} more queued`, 'tasks/s', slow),
    ratio(`${many} queued / ${few} queued`, slow, fast),
    figure(`${many} jobs submitted`, 'jobs/s', [many / fillSeconds]),
    figure(`kill -9 of the leader to the next job accepted, ${many} queued`, 's', takeOvers),
    figure(`kill -9 of the leader to all ${many} loaded`, 's', [loadSeconds]),
  ];
  if (!canWeigh) return figures;
  return [
    ...figures,
    figure('memory a queued task, leader that took them in', 'bytes', [heldBytes]),
    figure('memory a queued task, leader that took over', 'bytes', [reloadedBytes]),
  ];
}

/** A cluster whose queue stays long. */
class Queue {
  readonly #database: string;
  readonly #folder: Folder;
  readonly #sql: postgres.Sql;
  readonly #places: readonly [Place, Place];
  #leader: RunningNode;
  #submitted = 0;
  #workers = 0;

  private constructor(
    database: string,
    folder: Folder,
    places: readonly [Place, Place],
    leader: RunningNode,
  ) {
    this.#database = database;
    this.#folder = folder;
    this.#places = places;
    this.#leader = leader;
    this.#sql = postgres(database, { max: 1, onnotice: () => {} });
  }

  static async open(database: string, folder: Folder): Promise<Queue> {
    const places = [await newPlace(), await newPlace()] as const;
    const leader = await startLeader({ database, folder, place: places[0] });
    return new Queue(database, folder, places, leader);
  }

  leaderBytes(): number {
    return rssBytes(this.#leader.process.pid);
  }

  /** Up to this many in the queue. */
  async fill(count: number): Promise<void> {
    // As the leader has it: the tables may still show what was worked off a moment ago.
    const missing = count - (await this.#look()).live;
    if (missing <= 0) return;
    const client = new GrpcSubmitter([this.#leader.grpc]);
    await client.submitMany(missing, DOCUMENT);
    client.close();
    this.#submitted += missing;
  }

  /** Tasks a second over `slice` of them, the next ones in line after `warmUp`. */
  async burn(warmUp: number, slice: number): Promise<number> {
    const { live } = await this.#look();
    this.#workers += 1;
    const worker = await startWorker({
      servers: [this.#leader.grpc],
      nodeId: `w-${this.#workers}`,
      slots: SLOTS,
      folder: this.#folder,
    });
    try {
      const from = await this.#downTo(live - warmUp);
      const to = await this.#downTo(live - warmUp - slice);
      return ((from.live - to.live) * 1_000) / (to.atMs - from.atMs);
    } finally {
      await worker.end();
    }
  }

  /** Seconds from the leader's death to the first job that the next one accepts. */
  async takeOver(): Promise<number> {
    const [one, other] = this.#places;
    const place = this.#leader.port === one.port ? other : one;
    const next = await startLeader({ database: this.#database, folder: this.#folder, place });
    const killedAt = performance.now();
    await this.#leader.process.crash();
    this.#leader = next;
    const http = new HttpClient({ server: next.url, retryBudgetMs: 120_000 });
    await http.submitDocument(DOCUMENT);
    http.end();
    this.#submitted += 1;
    return (performance.now() - killedAt) / 1_000;
  }

  /** Seconds from now until the leader knows of this many. */
  async loaded(count: number): Promise<number> {
    const startedAt = performance.now();
    while ((await this.#look()).live < count) await pause(LOOK_EVERY_MS);
    return (performance.now() - startedAt) / 1_000;
  }

  /** Nothing that was submitted is lost. */
  async audit(): Promise<void> {
    const [row] = await this.#sql`
      select (select count(*) from millrace.job) as jobs,
        (select count(*) from millrace.job where state = 2) +
        (select count(*) from millrace.job_live) as accounted`;
    const { jobs, accounted } = row as unknown as { jobs: string; accounted: string };
    if (Number(jobs) === this.#submitted && Number(accounted) === this.#submitted) return;
    throw new Error(
      `The audit failed: ${this.#submitted} submitted, ${jobs} there, ${accounted} done or queued.`,
    );
  }

  async close(): Promise<void> {
    await this.#leader.process.crash();
    await this.#sql.end();
  }

  /** What waits or runs, as the leader has it: to count rows would take as long as to work on them. */
  async #look(): Promise<Look> {
    const metrics = await (await fetch(`${this.#leader.url}/metrics`)).text();
    const counts = [...metrics.matchAll(/^millrace_tasks\{.*\} (\d+)$/gm)];
    if (counts.length === 0) throw new Error('The metrics do not tell of tasks.');
    const live = counts.reduce((sum, [, count]) => sum + Number(count), 0);
    return { live, atMs: performance.now() };
  }

  async #downTo(live: number): Promise<Look> {
    for (;;) {
      const look = await this.#look();
      if (look.live <= live) return look;
      await pause(LOOK_EVERY_MS);
    }
  }
}

interface Look {
  readonly live: number;
  readonly atMs: number;
}
