/** Where the time of a query goes: each part of it on the way that ends last, from the request to its rows. */
import type { SqlCluster } from './sql-cluster.ts';
import type { TpchQuery } from './queries.ts';

/** In milliseconds; together they are the time that the client sees. */
interface Parts {
  /** From the request until the job is committed. */
  readonly plan: number;
  /** Making inputs readable, on the way that ends last. */
  readonly fetch: number;
  /** In the engine. */
  readonly run: number;
  /** Committing outputs. */
  readonly write: number;
  /** Messages, commits, waiting for a slot, and rows that come with a result: what no task counts. */
  readonly between: number;
  /** From the last commit to the last row. */
  readonly deliver: number;
}

interface TaskSeen {
  readonly queuedAt: string | null;
  readonly finishedAt: string | null;
  readonly result: {
    readonly metrics?: {
      readonly fetchMs: number;
      readonly runMs: number;
      readonly writeMs: number;
    };
  } | null;
}

interface JobSeen {
  readonly createdAt: string;
  readonly finishedAt: string;
  readonly tasks: readonly TaskSeen[];
}

const ROUNDS = 5;

/** Prints the medians of each query, and their sums. */
export async function timeline(
  cluster: SqlCluster,
  queries: readonly TpchQuery[],
  say: (line: string) => void,
): Promise<void> {
  const sums = new Map<string, number>();
  for (const { name, sql } of queries) {
    const rounds: Parts[] = [];
    for (let round = 0; round < ROUNDS; round += 1)
      rounds.push(await partsOf(cluster, `/* timeline ${round} */ ${sql}`));
    const names = Object.keys(rounds[0] ?? {}) as (keyof Parts)[];
    const cells = names.map((part) => {
      const ms = median(rounds.map((each) => each[part]));
      sums.set(part, (sums.get(part) ?? 0) + ms);
      return `${part} ${ms.toFixed(1).padStart(5)}`;
    });
    say(`  ${name}: ${cells.join(', ')}`);
  }
  say(`  all: ${[...sums].map(([part, ms]) => `${part} ${ms.toFixed(0)}`).join(', ')} ms`);
}

async function partsOf(cluster: SqlCluster, sql: string): Promise<Parts> {
  const startedMs = Date.now();
  const { id } = await cluster.answer(sql);
  const endedMs = Date.now();
  const job = await cluster.job<JobSeen>(id);
  const way = lastWay(job.tasks);
  const sum = (of: 'fetchMs' | 'runMs' | 'writeMs'): number =>
    way.reduce((total, { result }) => total + (result?.metrics?.[of] ?? 0), 0);
  const [fetch, run, write] = [sum('fetchMs'), sum('runMs'), sum('writeMs')];
  const [createdMs, finishedMs] = [Date.parse(job.createdAt), Date.parse(job.finishedAt)];
  return {
    plan: createdMs - startedMs,
    ...{ fetch, run, write },
    between: finishedMs - createdMs - fetch - run - write,
    deliver: endedMs - finishedMs,
  };
}

/** The task that ended last, the one whose end it waited for, and so on. */
function lastWay(tasks: readonly TaskSeen[]): readonly TaskSeen[] {
  const ran = tasks.filter(({ result }) => (result?.metrics?.runMs ?? 0) > 0);
  const way: TaskSeen[] = [];
  let next = ran.toSorted(byEnd).at(-1);
  while (next !== undefined) {
    way.push(next);
    const { queuedAt } = next;
    next = ran
      .filter((each) => !way.includes(each) && timeOf(each.finishedAt) <= timeOf(queuedAt))
      .toSorted(byEnd)
      .at(-1);
  }
  return way;
}

function byEnd(one: TaskSeen, other: TaskSeen): number {
  return timeOf(one.finishedAt) - timeOf(other.finishedAt);
}

function timeOf(at: string | null): number {
  return at === null ? 0 : Date.parse(at);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
