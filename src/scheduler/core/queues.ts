/** How many tasks wait and run, by executor and by the key of a limit. */
import { pauseId } from './queue/pause.ts';
import type { Pause, PauseTarget } from './queue/pause.ts';
import type { SchedulerState } from './state.ts';
import type { Slot } from './task/table.ts';

export interface QueueCounts extends PauseTarget {
  /** Tasks that could be started. */
  readonly ready: number;
  readonly running: number;
  readonly pause: Pause | null;
}

/** Executors are few, but there may be a key for each tenant: these many are shown. */
const SHOWN_MAX = 1_000;

interface Count {
  ready: number;
  running: number;
}

/**
 * Counts the tasks in memory, some at a time: a leader has hundreds of thousands of them, and callers that wait. What
 * happens meanwhile may be in it or not.
 */
export class QueueCounter {
  readonly #state: SchedulerState;
  readonly #executors: Map<string, Count> = new Map();
  readonly #keys: Map<string, Count> = new Map();
  #next = 0;

  constructor(state: SchedulerState) {
    this.#state = state;
  }

  /** Looks at the next so many places for tasks. False when that was all. */
  count(places: number): boolean {
    const { tasks, jobs } = this.#state;
    if (this.#next === 0) {
      for (const { kind, count } of jobs.packed.counts()) {
        countOf(this.#executors, kind.requirement.executor).ready += count;
      }
    }
    const from = this.#next;
    this.#next += places;
    return tasks.each((slot) => this.#add(slot), from, this.#next);
  }

  #add(slot: Slot): void {
    const { tasks } = this.#state;
    const state = tasks.state(slot);
    if (state !== 'ready' && state !== 'running') return;
    countOf(this.#executors, tasks.requirement(slot).executor)[state] += 1;
    const limits = tasks.limits(slot);
    for (const [at, { key }] of limits.entries()) {
      // A rate and a limit on concurrency may have the same key.
      const isFirst = limits.findIndex((each) => each.key === key) === at;
      if (isFirst) countOf(this.#keys, key)[state] += 1;
    }
  }

  /** Those that are paused come first, then those with most ready tasks. */
  result(): readonly QueueCounts[] {
    const { pauses } = this.#state;
    const shown: QueueCounts[] = [];
    for (const pause of pauses.values()) {
      const { kind, name } = pause;
      const count = (kind === 'executor' ? this.#executors : this.#keys).get(name);
      shown.push({ kind, name, ready: 0, running: 0, ...count, pause });
    }
    const others = [
      ...this.#others('executor', this.#executors),
      ...this.#others('key', this.#keys),
    ];
    const left = Math.max(0, SHOWN_MAX - shown.length);
    const most = mostReady(others, left).map((queue) => ({ ...queue, pause: null }));
    return [...shown.toSorted(byReady), ...most].slice(0, SHOWN_MAX);
  }

  *#others(kind: PauseTarget['kind'], counts: ReadonlyMap<string, Count>): Iterable<Counted> {
    const { pauses } = this.#state;
    for (const [name, { ready, running }] of counts) {
      if (pauses.size > 0 && pauses.has(pauseId({ kind, name }))) continue;
      yield { kind, name, ready, running };
    }
  }
}

type Counted = Omit<QueueCounts, 'pause'>;

function countOf(counts: Map<string, Count>, name: string): Count {
  const known = counts.get(name);
  if (known !== undefined) return known;
  const made = { ready: 0, running: 0 };
  counts.set(name, made);
  return made;
}

const byReady = (a: Count, b: Count): number => b.ready - a.ready;

/** Numbers are sorted much faster than objects, and most of these are not shown. */
function mostReady(queues: readonly Counted[], max: number): readonly Counted[] {
  if (queues.length <= max) return queues.toSorted(byReady);
  const numbers = Float64Array.from(queues, ({ ready }) => ready).toSorted();
  const least = numbers[numbers.length - max] ?? Infinity;
  const more = queues.filter(({ ready }) => ready > least);
  const equal = queues.filter(({ ready }) => ready === least).slice(0, max - more.length);
  return [...more.toSorted(byReady), ...equal];
}
