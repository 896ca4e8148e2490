/** Something read from the API, kept fresh by events. */
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { EventShape } from '../../src/scheduler/contract/index.ts';
import { signInNeeded, token } from '../api/call.ts';
import { listen } from '../api/live.ts';
import { type Problem, asProblem, isAbort } from '../api/problem.ts';
import { Loader } from './loader.ts';

export interface Loaded<T> {
  /** The last answer, also while a newer one is on its way or could not be had. */
  readonly value: T | null;
  readonly problem: Problem | null;
}

export interface Resource<T> {
  readonly state: Signal<Loaded<T>>;
  readonly refresh: () => void;
}

export interface ResourceOptions {
  /** Whether an event makes what is shown out of date. */
  readonly refreshOn?: (event: EventShape) => boolean;
  /** At most one call per this many milliseconds, and fewer of a server that takes long to answer. */
  readonly everyMs?: number;
  /** Reads again after this long in any case. */
  readonly pollMs?: number;
}

/** `key` names what is read; when it changes, the previous value is dropped. */
export function useResource<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  options: ResourceOptions = {},
): Resource<T> {
  const state = useSignal<Loaded<T>>({ value: null, problem: null });
  const reader = useRef(read);
  const settings = useRef(options);
  const refresh = useRef(() => {});
  reader.current = read;
  settings.current = options;
  const { value: shown } = token;
  const waits = signInNeeded.value !== null;
  useEffect(() => {
    if (waits) return;
    state.value = { value: null, problem: null };
    const loader = new Loader(
      () => settings.current,
      async (signal) => {
        try {
          state.value = { value: await reader.current(signal), problem: null };
        } catch (error) {
          if (!isAbort(error)) state.value = { ...state.peek(), problem: asProblem(error) };
          throw error;
        }
      },
    );
    refresh.current = () => loader.now();
    const forget = listen((event) => {
      const { refreshOn, everyMs = 400 } = settings.current;
      if (event === null || refreshOn?.(event) === true) loader.want(everyMs);
    });
    loader.now();
    return () => {
      forget();
      loader.stop();
    };
  }, [key, shown, waits]);
  return { state, refresh: () => refresh.current() };
}
