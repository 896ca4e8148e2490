/** What `millrace demo` shows: a graph that survives the loss of a worker and of its leader. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { uuidv7 } from 'uuidv7';
import { checkedSettings } from '../../core/index.ts';
import type { JobId, TermId } from '../../core/index.ts';
import { Elector, cronCalendar } from '../../coordinator/index.ts';
import type { Leader } from '../../coordinator/index.ts';
import { deferred, systemClock } from '../../kit/index.ts';
import { openDuckdbStore } from '../../store/index.ts';
import type { JobView, Store } from '../../store/index.ts';
import type { Reply } from '../command.ts';
import { DemoWorker } from './worker.ts';
import type { Work } from './worker.ts';

const MEASUREMENTS = 24;
const JOB = 'demo' as JobId;

/** Short, so that a lost worker is noticed within the patience of a spectator. */
const settings = checkedSettings({
  heartbeatMs: 300,
  sessionTtlMs: 2_400,
  leaderTtlMs: 1_500,
  leaderRenewMs: 500,
  nodeDeadMs: 5_000,
});

const work: Readonly<Record<string, Work>> = {
  square: (input) => (input as number) ** 2,
  sum: (input) => (input as number[]).reduce((total, each) => total + each, 0),
  report: (input) => `the squares up to ${MEASUREMENTS} add up to ${input as number}`,
};

export interface DemoResult {
  readonly tasks: number;
  readonly succeeded: number;
  readonly reassigned: number;
  readonly events: number;
  readonly epochs: number;
  readonly answer: string;
  readonly isRight: boolean;
}

export async function tell(reply: Reply, signal: AbortSignal): Promise<DemoResult> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-demo-'));
  try {
    return await new Demo(reply, signal, join(folder, 'demo.duckdb')).run();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

class Demo {
  readonly #reply: Reply;
  readonly #signal: AbortSignal;
  readonly #path: string;
  readonly #workers: readonly DemoWorker[];

  constructor(reply: Reply, signal: AbortSignal, path: string) {
    this.#reply = reply;
    this.#signal = signal;
    this.#path = path;
    this.#workers = ['w1', 'w2', 'w3'].map((name) => new DemoWorker(name, systemClock, work, 120));
  }

  async run(): Promise<DemoResult> {
    const [, doomed] = this.#workers as [DemoWorker, DemoWorker, DemoWorker];
    this.#reply.say('One leader, three workers and one DuckDB file, all in this process.\n');
    const first = await this.#elect();
    await Promise.all(this.#workers.map((worker) => worker.follow(first.leader)));
    await first.leader.jobs.submit(graph(), { jobId: JOB });
    this.#reply.say(`1. A graph of ${MEASUREMENTS + 2} tasks is committed; the workers pull.`);

    await this.#until(first.store, (view) => ended(view) >= 6);
    doomed.die();
    const lost = doomed.held.length;
    this.#reply.say(`2. Worker w2 dies with ${lost} tasks in its hands. Its session will run out.`);

    await this.#until(first.store, (view) => ended(view) >= 12);
    await first.elector.stop();
    await first.store.close();
    this.#reply.say('3. The leader stops in the middle of it. Its file is opened again ...');
    const second = await this.#elect();
    for (const worker of this.#workers) if (worker !== doomed) await worker.follow(second.leader);
    const { epoch } = second.leader.term;
    this.#reply.say(`   ... by a new leader, epoch ${epoch}: the other workers just go on.`);

    const view = await this.#until(second.store, ({ job }) => job.finishedAt !== null);
    await doomed.follow(second.leader);
    const verdict = await doomed.reportLate();
    this.#reply.say(`4. w2 was only paused and now reports its old task. It is told: ${verdict}`);

    const result = await summary(second.store, view, epoch);
    for (const worker of this.#workers) worker.die();
    await second.elector.stop();
    await second.store.close();
    return result;
  }

  async #elect(): Promise<{ store: Store; elector: Elector; leader: Leader }> {
    const store = await openDuckdbStore({ path: this.#path, migrate: true });
    const led = deferred<Leader>();
    const elector = new Elector({
      store,
      clock: systemClock,
      settings,
      calendar: cronCalendar,
      shard: 0,
      nodeId: 'demo',
      url: null,
      grpc: null,
      newTermId: () => uuidv7() as TermId,
      random: Math.random,
      onLead: led.resolve,
    });
    elector.start();
    return { store, elector, leader: await led.promise };
  }

  /** Looks until it is so, and shows how far the graph has come. */
  async #until(store: Store, isSo: (view: JobView) => boolean): Promise<JobView> {
    let shown = -1;
    for (;;) {
      this.#signal.throwIfAborted();
      const view = await store.job(0, JOB);
      if (view !== null) {
        if (ended(view) !== shown) this.#reply.say(`   ${bar(view)}`);
        shown = ended(view);
        if (isSo(view)) return view;
      }
      await new Promise<void>((resolve) => {
        systemClock.after(100, resolve);
      });
    }
  }
}

function graph(): object {
  const ids = Array.from({ length: MEASUREMENTS }, (_, at) => `square-${at + 1}`);
  return {
    name: 'demo',
    tasks: [
      ...ids.map((id, at) => ({ id, executor: 'square', input: at + 1 })),
      { id: 'sum', executor: 'sum', dependsOn: ids, input: ids.map((id) => ({ $from: id })) },
      { id: 'report', executor: 'report', dependsOn: ['sum'], input: { $from: 'sum' } },
    ],
  };
}

function ended(view: JobView): number {
  return view.tasks.filter(({ task }) => task.finishedAt !== null).length;
}

const SIGNS: Readonly<Record<string, string>> = { succeeded: '#', running: '>', ready: '.' };

function bar(view: JobView): string {
  const signs = view.tasks.map(({ task }) => SIGNS[task.state] ?? ' ').join('');
  return `[${signs}] ${ended(view)} of ${view.tasks.length}`;
}

async function summary(store: Store, view: JobView, epochs: number): Promise<DemoResult> {
  const events = await store.events(0, 0, 10_000);
  const isGapFree = events.every(({ seq }, at) => seq === at + 1);
  const answer = JSON.parse(view.tasks.at(-1)?.result ?? '""') as string;
  const expected = (MEASUREMENTS * (MEASUREMENTS + 1) * (2 * MEASUREMENTS + 1)) / 6;
  const succeeded = view.tasks.filter(({ task }) => task.state === 'succeeded').length;
  const isComplete = succeeded === view.tasks.length && isGapFree;
  return {
    tasks: view.tasks.length,
    succeeded,
    reassigned: events.filter(({ kind }) => kind === 'reassigned').length,
    events: events.length,
    epochs,
    answer,
    isRight: isComplete && answer.endsWith(` ${expected}`),
  };
}
