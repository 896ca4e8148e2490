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
  readonly isLateRefused: boolean;
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
  readonly #workers: readonly [DemoWorker, DemoWorker, DemoWorker];
  #store: Store | null = null;
  #elector: Elector | null = null;

  constructor(reply: Reply, signal: AbortSignal, path: string) {
    this.#reply = reply;
    this.#signal = signal;
    this.#path = path;
    const options = { clock: systemClock, work, workMs: 120 };
    this.#workers = [
      new DemoWorker({ ...options, name: 'w1' }),
      new DemoWorker({ ...options, name: 'w2', diesAtTask: 3 }),
      new DemoWorker({ ...options, name: 'w3' }),
    ];
  }

  /** However it ends, nothing is left that would keep the process alive. */
  async run(): Promise<DemoResult> {
    try {
      await this.#loseWorker();
      return await this.#loseLeader();
    } finally {
      for (const worker of this.#workers) worker.die();
      await this.#endReign();
    }
  }

  async #loseWorker(): Promise<void> {
    const [, doomed] = this.#workers;
    this.#reply.say('One leader, three workers and one DuckDB file, all in this process.\n');
    const { leader, store } = await this.#elect();
    await Promise.all(this.#workers.map((worker) => worker.follow(leader)));
    await leader.jobs.submit(graph(), { jobId: JOB });
    this.#reply.say(`1. A graph of ${MEASUREMENTS + 2} tasks is committed; the workers pull.`);

    await this.#until(store, ({ job }) => !doomed.isAlive || job.finishedAt !== null);
    const lost = doomed.held.length === 1 ? '1 task' : `${doomed.held.length} tasks`;
    this.#reply.say(`2. Worker w2 dies with ${lost} in its hands. Its session will run out.`);
    await this.#until(store, (view) => ended(view) >= 12);
  }

  async #loseLeader(): Promise<DemoResult> {
    const [one, doomed, other] = this.#workers;
    await this.#endReign();
    this.#reply.say('3. The leader stops in the middle of it. Its file is opened again ...');
    const { leader, store } = await this.#elect();
    for (const worker of [one, other]) await worker.follow(leader);
    const { epoch } = leader.term;
    this.#reply.say(`   ... by a new leader, epoch ${epoch}: the other workers just go on.`);

    const view = await this.#until(store, ({ job }) => job.finishedAt !== null);
    await doomed.follow(leader);
    const late = await doomed.reportLate();
    this.#reply.say(`4. w2 was only paused and now reports its old task. It is told: ${late.text}`);
    return summary(store, view, { epochs: epoch, isLateRefused: late.isRefused });
  }

  async #elect(): Promise<{ store: Store; leader: Leader }> {
    this.#signal.throwIfAborted();
    const store = await openDuckdbStore({ path: this.#path, migrate: true });
    this.#store = store;
    const led = deferred<Leader>();
    this.#elector = new Elector({
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
    this.#elector.start();
    return { store, leader: await unlessAborted(this.#signal, led.promise) };
  }

  async #endReign(): Promise<void> {
    const [elector, store] = [this.#elector, this.#store];
    [this.#elector, this.#store] = [null, null];
    try {
      await elector?.stop();
    } finally {
      await store?.close();
    }
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

async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const aborted = deferred<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    signal.throwIfAborted();
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
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

async function summary(
  store: Store,
  view: JobView,
  seen: Pick<DemoResult, 'epochs' | 'isLateRefused'>,
): Promise<DemoResult> {
  const events = await store.events(0, 0, 10_000);
  const isGapFree = events.every(({ seq }, at) => seq === at + 1);
  const answer = JSON.parse(view.tasks.at(-1)?.result ?? '""') as string;
  const expected = (MEASUREMENTS * (MEASUREMENTS + 1) * (2 * MEASUREMENTS + 1)) / 6;
  const succeeded = view.tasks.filter(({ task }) => task.state === 'succeeded').length;
  const isComplete = succeeded === view.tasks.length && isGapFree;
  const reassigned = events.filter(({ kind }) => kind === 'reassigned').length;
  const isAsTold = reassigned > 0 && seen.isLateRefused;
  return {
    tasks: view.tasks.length,
    succeeded,
    reassigned,
    events: events.length,
    ...seen,
    answer,
    isRight: isComplete && isAsTold && answer.endsWith(` ${expected}`),
  };
}
