/** What the dispatcher takes in beside events, each with the promise of its answer. */
import { deferred } from '../../kit/index.ts';
import type { Ask, Instant, JobImage, SchedulerState } from '../core/index.ts';
import type { Input } from './commit-batch.ts';

interface Asked<T> {
  readonly input: Input;
  readonly answer: Promise<T>;
}

export function readInput<T>(
  look: (state: SchedulerState, now: Instant) => T,
  isPromise: boolean,
): Asked<T> {
  const { promise, resolve, reject: refuse } = deferred<T>();
  const input: Input = {
    kind: 'read',
    look: (state, now) => {
      const value = look(state, now);
      return () => resolve(value);
    },
    refuse,
    isPromise,
  };
  return { input, answer: promise };
}

/** The answer is whether the images were restored. */
export function restoreInput(images: readonly JobImage[], generation: number): Asked<boolean> {
  const { promise, resolve: done, reject: refuse } = deferred<boolean>();
  return { input: { kind: 'restore', images, generation, done, refuse }, answer: promise };
}

/** Those that wait for a reply. */
export function asksIn(inputs: readonly Input[]): ReadonlySet<Ask> {
  const asks = new Set<Ask>();
  for (const input of inputs) if (input.kind === 'event' && input.ask !== null) asks.add(input.ask);
  return asks;
}
