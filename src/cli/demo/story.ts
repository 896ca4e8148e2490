/** `millrace demo`: work continues although a process that did it was killed. */
import { join } from 'node:path';
import type { DatedJob, HttpClient } from '../../client/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { type Deferred, deferred, systemClock } from '../../kit/index.ts';
import type { EventShape, QueryShape } from '../../scheduler/contract/index.ts';
import type { SqlResult } from '../../tasks/flow/index.ts';
import type { Reply } from '../command.ts';
import { eventLine } from '../job-words.ts';
import { follow } from '../view/follow.ts';
import { literally, query } from './duckdb.ts';
import type { Evidence, Kill, Recovery } from './findings.ts';
import { demo, type DemoInput, type Report, SALES, SUMS } from './flow.ts';
import { RATES } from './shop.ts';
import { type Stage, withStage } from './stage.ts';
import type { WorkerProcess } from '../worker-process.ts';

export interface StoryOptions {
  readonly reply: Reply;
  readonly signal: AbortSignal;
  /** In each file. */
  readonly rows: number;
}

export interface DemoOutcome extends Evidence {
  readonly workers: readonly { readonly id: string; readonly pid: number }[];
}

const FILES = 8;
/** Of all that happens to the job, what is worth a line where there is no terminal. */
const WORTH_A_LINE: ReadonlySet<EventShape['kind']> = new Set([
  'completed',
  'failed',
  'retried',
  'reassigned',
  'dead',
]);

/** An abort rejects with its reason, once everything is gone. */
export function tell(options: StoryOptions): Promise<DemoOutcome> {
  const story = new Story(options);
  const { reply, signal } = options;
  return withStage(
    { signal, print: (line) => reply.note(line), onPack: (pid) => story.packed(pid) },
    (stage) => story.play(stage),
  );
}

interface Packer {
  readonly pid: number;
  readonly atMs: number;
}

class Story {
  readonly #options: StoryOptions;
  readonly #first: Deferred<Packer> = deferred();
  readonly #second: Deferred<Packer> = deferred();
  /** Lines among what is drawn, if something is. */
  readonly #say: (line: string) => void;
  #packers = 0;

  constructor(options: StoryOptions) {
    this.#options = options;
    const { reply } = options;
    this.#say = (line) => {
      if (reply.terminal === null) reply.say(line);
      else reply.note(line);
    };
  }

  /** Between the two steps of the order. The first process to arrive waits until it is killed. */
  packed(pid: number): Promise<void> {
    const packer = { pid, atMs: systemClock.monotonicMs() };
    this.#packers += 1;
    if (this.#packers === 1) {
      this.#first.resolve(packer);
      return new Promise(() => {});
    }
    this.#second.resolve(packer);
    return Promise.resolve();
  }

  async play(stage: Stage): Promise<DemoOutcome> {
    const { client, workers, shop } = stage;
    const { signal } = this.#options;
    this.#introduce(stage);
    const { id } = await client.submitDocument(await demo.toDocument(this.#input(stage)), {
      signal,
    });
    const ended = this.#followed(client, id);
    const killed = this.#kill(stage, id, ended);
    const [job, kill] = await Promise.all([ended, killed]);
    return {
      job,
      kill,
      deeds: shop.deeds,
      events: await eventsOf(client, id, signal),
      expected: job.state === 'succeeded' ? await expectedReport(stage.folder, signal) : null,
      files: FILES,
      query: await queryOf(client, job, signal),
      workers: workers.map(({ id, pid }) => ({ id, pid })),
    };
  }

  #introduce({ url, workers }: Stage): void {
    const who = workers.map(({ id, pid }) => `${id} (${pid})`).join(', ');
    const rows = this.#options.rows.toLocaleString('en');
    this.#say(`A node at ${url} stores its jobs in a DuckDB file. Three`);
    this.#say(`worker processes run the tasks: ${who}.`);
    this.#say(
      `A shop counts its sales: ${FILES} Parquet files of ${rows} rows are written, one SQL`,
    );
    this.#say('query distributed over the workers adds them up, with exchange rates fetched over');
    this.#say(
      'HTTP. Meanwhile an order is charged, packed and shipped. The worker that packs it is killed.',
    );
    this.#say('');
  }

  #input({ folder, shop }: Stage): DemoInput {
    const { rows } = this.#options;
    return {
      ratesUrl: new URL('rates', shop.url).href,
      order: { shop: shop.url, id: 'A-7', cents: 4_200 },
      days: Array.from({ length: FILES }, (_, at) => ({ folder, day: at + 1, rows })),
    };
  }

  /** The job as it ended. */
  async #followed(client: HttpClient, id: JobId): Promise<DatedJob> {
    const { reply, signal } = this.#options;
    if (reply.terminal !== null) {
      return follow(client, id, { signal, reply, say: this.#say, after: 0 });
    }
    const watching = client.watch(id, { signal, retriesForever: false });
    for (;;) {
      const next = await watching.next();
      if (next.done === true) return next.value;
      if (WORTH_A_LINE.has(next.value.kind)) this.#say(eventLine(next.value, id));
    }
  }

  /** Null if the job ends before any process reaches the point where it is killed. */
  async #kill(stage: Stage, id: JobId, ended: Promise<unknown>): Promise<Kill | null> {
    const over = ended.then(
      () => null,
      () => null,
    );
    const packer = await Promise.race([this.#first.promise, over]);
    const worker = stage.workers.find(({ pid }) => pid === packer?.pid);
    if (worker === undefined) return null;
    await Promise.race([this.#halfway(stage.client, id), over]);
    const { tasks } = await stage.client.job(id, { signal: this.#options.signal });
    const held = tasks
      .filter(({ state, node }) => state === 'running' && node === worker.id)
      .map((task) => task.id);
    const atMs = systemClock.monotonicMs();
    worker.kill();
    this.#say(
      `--- kill -9 ${worker.pid}: ${worker.id}, which had charged the order and was packing it.`,
    );
    this.#say(`    It held ${held.join(', ')}.`);
    const endedBy = await worker.exited;
    const next = await Promise.race([this.#second.promise, over]);
    const recovery = next === null ? null : recoveryBy(next, atMs, stage.workers);
    if (recovery !== null) this.#tellRecovery(recovery);
    return { worker: worker.id, pid: worker.pid, endedBy, held, recovery };
  }

  /** Half of the files are written, the others are in progress. */
  async #halfway(client: HttpClient, id: JobId): Promise<void> {
    let written = 0;
    for await (const { kind, task } of client.watch(id, {
      signal: this.#options.signal,
      retriesForever: false,
    })) {
      if (kind === 'completed' && task?.startsWith(`${SALES}.`) === true) written += 1;
      if (written >= FILES / 2) return;
    }
  }

  #tellRecovery({ worker, ms }: Recovery): void {
    this.#say(`--- ${ms} ms later ${worker} resumes packing, without charging the order again.`);
  }
}

function recoveryBy(
  { pid, atMs }: Packer,
  killedAtMs: number,
  workers: readonly WorkerProcess[],
): Recovery {
  const worker = workers.find((each) => each.pid === pid)?.id ?? 'a stranger';
  return { worker, pid, ms: Math.round(atMs - killedAtMs) };
}

async function queryOf(
  { queries }: HttpClient,
  { tasks }: DatedJob,
  signal: AbortSignal,
): Promise<QueryShape | null> {
  const sums = tasks.find(({ id }) => id === SUMS);
  const result = (sums?.result ?? null) as SqlResult | null;
  return result === null ? null : queries.get(result.queryId as JobId, { signal });
}

async function eventsOf(
  client: HttpClient,
  id: JobId,
  signal: AbortSignal,
): Promise<readonly EventShape[]> {
  const events: EventShape[] = [];
  for await (const event of client.watch(id, { signal, retriesForever: false })) events.push(event);
  return events;
}

/** The same by other means: one query, in one process, over all files at once. */
async function expectedReport(folder: string, signal: AbortSignal): Promise<Report> {
  const rows = await query(
    `select currency, count(*) as sales, sum(cents)::bigint as cents,
            (sum(sum(cents * rate)) over () // 1000)::bigint as euro_cents
     from read_parquet($files) join (values ${ratesAsRows()}) as rates(currency, rate) using (currency)
     group by currency order by currency`,
    { files: join(literally(folder), 'sales-*.parquet') },
    signal,
  );
  const totals = rows.map(({ currency, sales, cents }) => ({
    currency: String(currency),
    sales: Number(sales),
    cents: Number(cents),
  }));
  return {
    sales: totals.reduce((sum, { sales }) => sum + sales, 0),
    euroCents: Number(rows[0]?.['euro_cents'] ?? 0),
    totals,
  };
}

function ratesAsRows(): string {
  return Object.entries(RATES)
    .map(([currency, rate]) => `('${currency}', ${rate}::bigint)`)
    .join(', ');
}
