/**
 * What a simulated handler waits for: times, signals, events, jobs that it calls; and what it submits meanwhile. It asks its context for them as any
 * handler does; what it has waited for already is answered from the steps of earlier attempts.
 */
import type { Json } from '../../src/scheduler/core/index.ts';
import type { Callable, TaskContext } from '../../src/tasks/executors/index.ts';
import { EVENTS, drawKey } from './events.ts';
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
  | {
      readonly kind: 'event';
      readonly name: string;
      readonly event: string;
      readonly key: number;
      readonly timeoutMs: number | null;
    }
  | { readonly kind: 'call'; readonly name: string; readonly document: unknown };

interface Round {
  readonly things: readonly Thing[];
  /** It goes on with the first of them; otherwise it waits for all. */
  readonly isRace: boolean;
  /** Jobs that it submits before it waits. */
  readonly submits: readonly string[];
  /** Events that it sends before it waits. */
  readonly sends: readonly {
    readonly name: string;
    readonly event: string;
    readonly key: number;
  }[];
}

/** Round after round; the things of one round are waited for together. */
export type Plan = readonly Round[];

/** The same in every attempt of the run. */
export function drawPlan(
  random: Random,
  { jobId, taskId, run }: Pick<TaskContext, 'jobId' | 'taskId' | 'run'>,
  queryRate: number,
): Plan {
  const dice = random.fork(`${jobId}/${taskId}/run ${run}`);
  const depth = jobId.split('.').length;
  return Array.from({ length: dice.whole(1, 3) }, (_, round) => ({
    isRace: dice.chance(0.3),
    submits: drawSubmissions(dice.fork(`submits in round ${round}`), round),
    sends: drawSends(dice.fork(`sends in round ${round}`), round),
    things: Array.from({ length: dice.chance(0.6) ? 1 : dice.whole(2, 3) }, (_each, at) =>
      drawThing(dice, `${round}.${at}`, depth, queryRate),
    ),
  }));
}

function drawSubmissions(dice: Random, round: number): readonly string[] {
  const count = dice.chance(0.3) ? dice.whole(1, 3) : 0;
  return Array.from({ length: count }, (_, at) => `${round}.${at}`);
}

function drawSends(dice: Random, round: number): Round['sends'] {
  if (!dice.chance(0.2)) return [];
  return [{ name: `${round}`, event: dice.pick(EVENTS), key: drawKey(dice) }];
}

function drawThing(dice: Random, name: string, depth: number, queryRate: number): Thing {
  const kind = dice.whole(0, depth > DEPTH_MAX ? 1 : 2);
  if (kind === 0) return { kind: 'sleep', name, forMs: dice.whole(0, 8_000) };
  if (kind === 1) {
    const timeoutMs = dice.chance(0.7) ? dice.whole(100, 20_000) : null;
    const other = dice.fork(`event ${name}`);
    if (other.chance(0.4)) {
      return { kind: 'event', name, event: other.pick(EVENTS), key: drawKey(other), timeoutMs };
    }
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

/**
 * Waits for everything in the plan. Who wins a race is recorded by the first attempt that sees it; answers what
 * is wrong when a later attempt sees another one win.
 */
export async function goThrough(plan: Plan, context: TaskContext): Promise<string | null> {
  for (const [no, { things, isRace, submits, sends }] of plan.entries()) {
    for (const { name, event, key } of sends) await context.send(name, event, { order: { key } });
    const ids = await Promise.all(
      submits.map((name) => context.submit(name, callable(SUBMITTED), null)),
    );
    const known = await context.step(`submitted ${no}`, () => ids);
    if (known.join(' ') !== ids.join(' ')) return `round ${no} has submitted ${known.join(' ')}`;
    const all = things.map((thing) => waitFor(thing, context));
    if (!isRace) {
      await Promise.all(all);
      continue;
    }
    const winner = await Promise.race(all.map((each, at) => each.then(() => at)));
    const recorded = await context.step(`winner ${no}`, () => winner);
    if (recorded !== winner) return `round ${no} was won by ${recorded}, now by ${winner}`;
  }
  return null;
}

const SUBMITTED = { name: 'submitted', tasks: [{ id: 'x', executor: 'leaf' }] };

async function waitFor(thing: Thing, context: TaskContext): Promise<void> {
  switch (thing.kind) {
    case 'sleep':
      return context.sleep(thing.name, thing.forMs);
    case 'signal': {
      const { name, signal, timeoutMs } = thing;
      const timeout = timeoutMs === null ? {} : { timeout: timeoutMs };
      await context.waitFor(signal, { as: name, ...timeout });
      return;
    }
    case 'event': {
      const { name, event, key, timeoutMs } = thing;
      const timeout = timeoutMs === null ? {} : { timeout: timeoutMs };
      await context.waitForEvent(name, event, { match: { 'order.key': key }, ...timeout });
      return;
    }
    case 'call':
      // However it ended: the handler goes on.
      await context.call(thing.name, callable(thing.document), null).catch(onlyFailures);
  }
}

function onlyFailures(error: unknown): void {
  if (error instanceof Error && error.name === 'ChildJobError') return;
  throw error;
}

function callable(document: unknown): Callable<null, Json> {
  return { name: 'called', toDocument: () => document, readResult: (result) => result };
}
