/**
 * Random workloads for the core: what users, workers, operators and time may do, in any order.
 * An operation carries only numbers; who and what they mean is decided by the world it meets, so
 * every sequence makes sense and a failing one can be shrunk.
 */
import fc from 'fast-check';
import { isFinished, isMillraceError } from '../../../src/scheduler/core/index.ts';
import type {
  Assignment,
  AwaitedThings,
  JobId,
  JobState,
  ReportItem,
  TaskId,
  TaskState,
} from '../../../src/scheduler/core/index.ts';
import { Harness } from '../harness.ts';
import { checkEnds } from './invariants.ts';
import { loseInput } from './lose-input.ts';
import { changeJob, changeSchedule, operateQueue, resumeAll } from './operators.ts';
import { KINDS, randomDocument, randomOwnOptions } from './random-document.ts';
import type { ScriptedNode, Unasked } from './scripted-node.ts';

/** How often each operation is drawn. */
const WEIGHTS = {
  submit: 8,
  poll: 16,
  park: 4,
  start: 4,
  progress: 2,
  step: 1,
  complete: 14,
  fail: 12,
  loseInput: 5,
  release: 2,
  abort: 2,
  skip: 2,
  sleep: 3,
  wait: 6,
  signal: 6,
  spawn: 4,
  repeat: 3,
  loseAnswer: 2,
  beat: 4,
  forget: 2,
  advance: 12,
  cancel: 2,
  rerun: 5,
  redrive: 6,
  drain: 1,
  releaseNode: 2,
  pauseQueue: 2,
  changeJob: 7,
  leave: 1,
  die: 2,
  rejoin: 3,
  burst: 8,
  schedule: 1,
  trigger: 1,
  restart: 6,
};

export interface Operation {
  readonly kind: keyof typeof WEIGHTS;
  readonly a: number;
  readonly b: number;
}

const operation: fc.Arbitrary<Operation> = fc
  .tuple(
    fc.oneof(
      ...Object.entries(WEIGHTS).map(([kind, weight]) => ({
        weight,
        arbitrary: fc.constant(kind as Operation['kind']),
      })),
    ),
    fc.nat(1_000),
    fc.nat(1_000),
  )
  .map(([kind, a, b]) => ({ kind, a, b }));

export const operations: fc.Arbitrary<Operation[]> = fc.array(operation, {
  minLength: 20,
  maxLength: 120,
  size: 'max',
});

/** A world, its nodes, and what they have ever held. */
export class Workload {
  readonly world: Harness;
  readonly nodes: readonly ScriptedNode[];
  readonly past: { readonly node: ScriptedNode; readonly task: Assignment }[] = [];
  jobs = 0;

  constructor(world: Harness) {
    this.world = world;
    this.nodes = [
      world.node('w1', { executors: KINDS, slots: 4, capabilities: { gpu: true } }),
      world.node('w2', { executors: ['echo'], slots: 2 }),
      world.node('w3', { executors: KINDS, slots: 8 }),
    ];
  }

  /** Does them all, heals the world, and sees to it that everything has ended, once. */
  static run(
    operations: readonly Operation[],
    afterEach: (world: Harness) => void,
    onCommit: Harness['onCommit'] = () => {},
    unpackedJobs = 1,
  ): Harness {
    const settings = { catchUpMax: 5, maxLosses: 2, maxQueries: 2, queryMemoryBytes: 100 };
    const world = new Harness({ unpackedJobs, settings });
    world.onCommit = onCommit;
    const workload = new Workload(world);
    for (const each of operations) {
      workload.do(each);
      afterEach(world);
    }
    workload.heal();
    checkEnds(world.rows);
    return world;
  }

  do({ kind, a, b }: Operation): void {
    ACTS[kind](this, a, b);
  }

  node(a: number): ScriptedNode {
    return this.nodes[a % this.nodes.length] as ScriptedNode;
  }

  /** Lets the node speak; one whose session is over starts over, as workers do. */
  as(node: ScriptedNode, speak: () => void): void {
    try {
      speak();
    } catch (error) {
      if (!isMillraceError(error, 'superseded') && !isMillraceError(error, 'unknown_session')) {
        throw error;
      }
      node.restartProcess();
    }
  }

  take(node: ScriptedNode): void {
    for (const task of node.take()) this.past.push({ node, task });
  }

  /** Does something with one of the tasks that some node holds. */
  withTask(a: number, act: (node: ScriptedNode, task: Assignment) => void): void {
    const held = this.nodes.flatMap((node) =>
      [...node.held.values()].map((task) => ({ node, task })),
    );
    const chosen = held[a % Math.max(1, held.length)];
    if (chosen !== undefined) this.as(chosen.node, () => act(chosen.node, chosen.task));
  }

  /** Some job, of those in these states if there are any. */
  jobId(a: number, preferred: readonly JobState[] = []): string | null {
    const ids = this.world.jobIds();
    return pick(ids, a, (id) => preferred.includes(this.world.job(id).state)) ?? null;
  }

  taskId(job: string, b: number, preferred: TaskState): string {
    const states = this.world.states(job);
    return pick(Object.keys(states), b, (id) => states[id] === preferred) ?? '';
  }

  /** Everything works again and somebody runs what there is: at last all jobs must end. */
  heal(): void {
    const { world, nodes } = this;
    for (const id of world.rows.schedules.keys()) world.changeSchedule(id, 'delete');
    resumeAll(world);
    for (const node of nodes) {
      if (world.rows.nodes.has(node.id)) world.releaseNode(node.id);
      node.restartProcess();
    }
    for (let round = 0; world.rows.live.size > 0; round += 1) {
      if (round > 500) throw new Error(`these jobs never end: ${this.#stuck().join('; ')}`);
      for (const node of nodes) {
        node.beat();
        node.obey();
        for (const task of node.poll(9)) node.complete(task, 'healed');
      }
      this.#answer();
      world.advance(round < 100 ? 5_000 : 10_000);
    }
  }

  /** Whoever waits for a signal gets one. */
  #answer(): void {
    const { world } = this;
    for (const no of world.rows.live) {
      const job = world.rows.jobs.get(no);
      const asked = job?.tasks.flatMap(({ row }) => namesIn(row.waits)) ?? [];
      for (const name of asked) world.signal(job?.row.id ?? '', name);
    }
  }

  #stuck(): string[] {
    const { world } = this;
    return world
      .jobIds()
      .filter((id) => !isFinished(world.job(id).state))
      .flatMap((id) =>
        Object.keys(world.states(id)).map((task) => {
          const { code, why } = world.explain(id, task) ?? { code: '?', why: '?' };
          return `${id}/${task} ${code}: ${why}`;
        }),
      );
  }
}

function pick(
  list: readonly string[],
  at: number,
  isPreferred: (each: string) => boolean,
): string | undefined {
  const preferred = list.filter(isPreferred);
  const chosen = preferred.length > 0 ? preferred : list;
  return chosen[at % Math.max(1, chosen.length)];
}

function submit(workload: Workload, a: number, b: number): void {
  const { world } = workload;
  workload.jobs += 1;
  const drawn = randomDocument(`job-${workload.jobs}`, a, b);
  const raw = b % 6 === 0 ? { ...drawn, debounce: undefined, runAt: world.now + a * 10 } : drawn;
  const isFork = b % 10 === 0;
  const own = randomOwnOptions(a, b);
  const isGiven = isFork || own['t0']?.admission !== undefined;
  const seeds = { t0: { state: 'succeeded', result: '1' } } as const;
  world.submit(raw, { own, ...(isGiven ? { seeds } : {}) });
}

function sequel(workload: Workload, a: number, b: number): void {
  workload.withTask(a, (node, task) => {
    const ids = [`${task.taskId}.c0`, `${task.taskId}.c1`].slice(0, b % 3);
    node.spawn(
      task,
      ids.map((id) => ({ id, executor: KINDS[b % 2] })),
    );
  });
}

/** For a time, for one of two signals, for another job, or for several of these. */
function wait(workload: Workload, a: number, b: number): void {
  workload.withTask(a, (node, task) => {
    const document = randomDocument('called', b, a);
    const isCall = b % 3 === 0 && task.jobId.split('.').length < 4;
    node.wait(task, {
      ...(b % 2 === 0 || (b % 5 > 1 && !isCall) ? { sleepMs: b * 10 } : {}),
      ...(b % 5 > 1 ? {} : { signals: b % 7 === 0 ? ['go', 'stop'] : ['go'] }),
      ...(isCall ? { jobs: { [`${task.taskId}-${task.run}-${b % 2}`]: document } } : {}),
    });
  });
}

function namesIn(waits: string | null): string[] {
  return waits === null ? [] : (JSON.parse(waits) as AwaitedThings).signals.map(({ name }) => name);
}

function fail(workload: Workload, a: number, b: number): void {
  const failure = (['retryable', 'retryable', 'fatal', 'missing'] as const)[b % 4] ?? 'fatal';
  workload.withTask(a, (node, task) => node.fail(task, { failure }));
}

/** Says again what was said of an old lease, or says it of one that somebody else has. */
function repeat(workload: Workload, a: number, b: number): void {
  const old = workload.past[a % Math.max(1, workload.past.length)];
  if (old === undefined) return;
  const node = b % 3 === 0 ? workload.node(b) : old.node;
  workload.as(node, () => {
    if (b % 2 === 0) node.complete(old.task, 'again');
    else node.fail(old.task);
  });
}

/** Several things at once, in one transaction: ends of tasks, calls of users, time, assignments. */
function burst(workload: Workload, a: number, b: number): void {
  const { world, nodes } = workload;
  const events: Unasked[] = [];
  for (const [at, node] of nodes.entries()) {
    const [task] = node.held.values();
    if (task === undefined || (a + at) % 4 === 0) continue;
    const { lease } = task;
    const error = { code: 'oops', message: 'in a burst' };
    const failure = (b + at) % 3 === 0 ? 'fatal' : 'retryable';
    const item: ReportItem =
      (a + b + at) % 3 === 0
        ? { kind: 'completed', lease, result: '1' }
        : { kind: 'failed', lease, error, failure };
    events.push(node.reporting([item]));
  }
  const jobId = workload.jobId(a, ['running']) as JobId | null;
  if (jobId !== null && b % 4 === 0) events.push({ type: 'cancel', jobId, reason: 'burst' });
  if (jobId !== null && b % 4 === 1) {
    const taskId = workload.taskId(jobId, b, 'failed') as TaskId;
    events.push({ type: 'rerun', jobId, taskId }, { type: 'rerun', jobId });
  }
  const dying = workload.node(a + b);
  if (b % 5 === 0) events.push(dying.goneEvent());
  if (b % 3 === 0) events.push({ type: 'tick' });
  world.together([...events, { type: 'assign' }]);
  if (b % 5 === 0) dying.held.clear();
}

function schedule(workload: Workload, a: number, b: number): void {
  const overlap = ['skip', 'queue', 'cancel'][a % 3];
  const misfire = ['skip', 'once', 'all'][b % 3];
  const timing = a % 4 === 0 ? { at: workload.world.later(b * 10) } : { everyMs: 5_000 + b * 10 };
  const raw = { name: 'scheduled', tasks: [{ id: 't0', executor: 'echo' }] };
  workload.world.schedule(`s${a % 2}`, { timing, overlap, misfire, document: raw });
}

const ACTS: Readonly<
  Record<Operation['kind'], (workload: Workload, a: number, b: number) => void>
> = {
  submit,
  poll: (workload, a, b) => {
    const node = workload.node(a);
    workload.as(node, () => {
      const tasks = node.poll(b % 5);
      for (const task of tasks) workload.past.push({ node, task });
      const left = tasks.length < b % 5 ? workload.world.couldRun(node.id) : [];
      if (left.length > 0) throw new Error(`${node.id} asked and did not get ${left.join(', ')}`);
    });
  },
  park: (workload, a, b) => {
    const node = workload.node(a);
    workload.as(node, () => {
      workload.take(node);
      node.park(b % 4);
    });
  },
  start: (workload, a) => workload.withTask(a, (node, task) => node.start(task)),
  progress: (workload, a, b) =>
    workload.withTask(a, (node, task) => node.progress(task, (b % 11) / 10)),
  step: (workload, a, b) => workload.withTask(a, (node, task) => node.step(task, `s${b % 3}`, b)),
  complete: (workload, a, b) =>
    workload.withTask(a, (node, task) => node.complete(task, b % 4 === 0 ? null : b)),
  fail,
  loseInput: (workload, a, b) =>
    workload.withTask(a, (node, task) => loseInput(workload.world, node, task, b)),
  release: (workload, a) => workload.withTask(a, (node, task) => node.release(task)),
  abort: (workload, a) => workload.withTask(a, (node, task) => node.abort(task)),
  skip: (workload, a) => workload.withTask(a, (node, task) => node.skip(task)),
  sleep: (workload, a, b) => workload.withTask(a, (node, task) => node.sleep(task, b * 10)),
  wait,
  signal: (workload, a, b) => {
    const job = workload.jobId(a, ['running']);
    if (job !== null) workload.world.signal(job, b % 4 === 0 ? 'stop' : 'go', b, `id-${b % 9}`);
  },
  spawn: sequel,
  repeat,
  loseAnswer: (workload, a) => {
    workload.world.assign();
    workload.node(a).loseAnswer();
  },
  beat: (workload, a) => {
    const node = workload.node(a);
    workload.as(node, () => {
      workload.take(node);
      node.beat();
      node.obey();
    });
  },
  forget: (workload, a, b) => {
    const { held } = workload.node(a);
    const name = [...held.keys()][b % Math.max(1, held.size)];
    if (name !== undefined) held.delete(name);
  },
  advance: ({ world }, a, b) => world.advance(a % 10 === 0 ? b * 100 : a % 3 === 0 ? b * 10 : b),
  cancel: (workload, a) => {
    const job = workload.jobId(a);
    if (job !== null) workload.world.cancel(job);
  },
  changeJob: (workload, a, b) => changeJob(workload.world, workload.jobId(a), b),
  rerun: (workload, a) => {
    const job = workload.jobId(a, ['failed', 'cancelled']);
    if (job !== null) workload.world.rerun(job);
  },
  redrive: (workload, a, b) => {
    const job = workload.jobId(a, ['failed', 'running']);
    if (job !== null) workload.world.redrive(job, workload.taskId(job, b, 'failed'));
  },
  drain: (workload, a) => void workload.world.drain(workload.node(a).id),
  releaseNode: (workload, a) => void workload.world.releaseNode(workload.node(a).id),
  pauseQueue: ({ world }, a, b) => operateQueue(world, a, b),
  leave: (workload, a) => {
    const node = workload.node(a);
    workload.as(node, () => node.leave());
  },
  die: (workload, a) => workload.node(a).die(),
  rejoin: (workload, a) => void workload.node(a).restartProcess(),
  burst,
  schedule,
  trigger: ({ world }, a, b) => changeSchedule(world, a, b),
  restart: ({ world }) => world.restart(),
};
