/**
 * A simulated handler that waits: for times, for signals, for jobs that it calls. Like a real one it is
 * run from its start each time, and what it has waited for answers from its steps.
 */
import type { JobId, Wait } from '../../src/scheduler/core/index.ts';
import { mix } from '../../src/scheduler/core/index.ts';
import type {
  CalledJob,
  ReadyAssignment,
  StepRecord,
  WorkerSuspension,
} from '../../src/scheduler/contract/index.ts';
import type { Random } from './random.ts';

/** The signals that anybody waits for. */
export const SIGNALS: readonly string[] = ['go', 'stop'];

/** Calls inside calls inside calls are enough. */
const DEPTH_MAX = 3;

type Thing =
  | { readonly kind: 'sleep'; readonly name: string; readonly forMs: number }
  | {
      readonly kind: 'signal';
      readonly name: string;
      readonly signal: string;
      readonly timeoutMs: number | null;
    }
  | { readonly kind: 'call'; readonly name: string; readonly document: unknown };

/** Round after round; the things of one round are waited for together, until all have come. */
export type Plan = readonly (readonly Thing[])[];

/** The same in every attempt of the run. */
export function drawPlan(
  random: Random,
  { lease, jobId, run }: ReadyAssignment,
  queryRate: number,
): Plan {
  const dice = random.fork(`${lease.jobNo}/${lease.taskNo}/run ${run}`);
  const depth = jobId.split('.').length;
  return Array.from({ length: dice.whole(1, 3) }, (_, round) =>
    Array.from({ length: dice.chance(0.6) ? 1 : dice.whole(2, 3) }, (_each, at) =>
      drawThing(dice, `${round}.${at}`, depth, queryRate),
    ),
  );
}

function drawThing(dice: Random, name: string, depth: number, queryRate: number): Thing {
  const kind = dice.whole(0, depth > DEPTH_MAX ? 1 : 2);
  if (kind === 0) return { kind: 'sleep', name, forMs: dice.whole(0, 8_000) };
  if (kind === 1) {
    const timeoutMs = dice.chance(0.7) ? dice.whole(100, 20_000) : null;
    return { kind: 'signal', name, signal: dice.pick(SIGNALS), timeoutMs };
  }
  const query = dice.fork(`query ${name}`);
  if (query.chance(queryRate)) {
    const document = { query: { number: query.whole(0, 1_000_000) }, name: 'called query' };
    return { kind: 'call', name, document };
  }
  const tasks = Array.from({ length: dice.whole(1, 2) }, (_, at) => ({
    id: `x${at}`,
    executor: dice.pick(['leaf', 'echo', 'waiter']),
  }));
  return { kind: 'call', name, document: { name: 'called', tasks } };
}

export interface Going {
  /** What the attempt has found out and writes down. */
  readonly steps: readonly StepRecord[];
  /** What it waits for; null when it has waited for everything. */
  readonly until: WorkerSuspension | null;
}

/** One attempt. `now` is what the worker takes for the database's time. */
export function goOn(plan: Plan, assignment: ReadyAssignment, now: number): Going {
  const attempt = new Attempt(assignment, now);
  for (const round of plan) {
    for (const thing of round) attempt.look(thing);
    if (attempt.isWaiting) return { steps: attempt.steps, until: attempt.until };
  }
  return { steps: attempt.steps, until: null };
}

class Attempt {
  readonly steps: StepRecord[] = [];
  readonly #assignment: ReadyAssignment;
  readonly #known: ReadonlyMap<string, string>;
  readonly #now: number;
  readonly #sleeps: Wait['sleeps'][number][] = [];
  readonly #signals: Wait['signals'][number][] = [];
  readonly #jobs: CalledJob[] = [];

  constructor(assignment: ReadyAssignment, now: number) {
    this.#assignment = assignment;
    this.#now = now;
    this.#known = new Map(assignment.steps.map(({ name, body }) => [name, body]));
  }

  get isWaiting(): boolean {
    return this.#sleeps.length + this.#signals.length + this.#jobs.length > 0;
  }

  get until(): WorkerSuspension {
    return { type: 'wait', sleeps: this.#sleeps, signals: this.#signals, jobs: this.#jobs };
  }

  look(thing: Thing): void {
    switch (thing.kind) {
      case 'sleep':
        return this.#sleep(`$sleep/${thing.name}`, thing.forMs);
      case 'signal':
        return this.#waitFor(thing);
      case 'call':
        return this.#call(thing);
    }
  }

  #sleep(step: string, forMs: number): void {
    const restMs = this.#restMs(step, forMs);
    if (restMs > 0 || !this.#known.has(step)) this.#sleeps.push({ step, forMs: restMs });
  }

  #restMs(step: string, forMs: number): number {
    const known = this.#known.get(step);
    if (known === undefined) return forMs;
    const { until } = JSON.parse(known) as { readonly until: number };
    return Math.max(0, Math.ceil(until - this.#now));
  }

  #waitFor({ name, signal, timeoutMs }: Extract<Thing, { kind: 'signal' }>): void {
    const step = `$signal/${name}`;
    const end = `$until/${name}`;
    if (this.#known.has(step)) return;
    if (timeoutMs !== null && this.#known.has(end) && this.#restMs(end, timeoutMs) === 0) {
      this.steps.push({ name: step, body: '{"timeout":true}' });
      return;
    }
    if (timeoutMs !== null) this.#sleep(end, timeoutMs);
    this.#signals.push({ step, name: signal });
  }

  #call({ name, document }: Extract<Thing, { kind: 'call' }>): void {
    const step = `$job/${name}`;
    if (this.#known.has(step)) return;
    const { jobId, taskId, run } = this.#assignment;
    let hash = run;
    for (const letter of `${taskId}/${name}`) hash = mix(hash, letter.codePointAt(0) ?? 0);
    const digits = hash.toString(16).padStart(8, '0');
    this.#jobs.push({ step, jobId: `${jobId}.${digits}` as JobId, document });
  }
}
