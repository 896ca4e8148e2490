/**
 * One stream of events for the whole page. Views subscribe to what they need. The stream reconnects by itself,
 * from the last event seen, and reports its state.
 */
import { batch, effect, signal, untracked } from '@preact/signals';
import type { EventShape } from '../../src/scheduler/contract/index.ts';
import { api, request, signInNeeded, token } from './call.ts';
import { BlockReader, type StreamBlock } from './event-stream.ts';
import { type Problem, asProblem } from './problem.ts';

export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** More events than a page can follow: it looks now and then instead. */
  | { readonly state: 'busy' }
  | { readonly state: 'retrying'; readonly problem: Problem };

export type Listener = (event: EventShape | null) => void;

export const connection = signal<Connection>({ state: 'connecting' });
/** While true nothing is followed, and lists stand still. */
export const isPaused = signal(false);

const listeners = new Set<Listener>();

/** `listener` gets every event; null means that some were missed, so whatever is shown must be read again. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const tell = (event: EventShape | null): void => {
  for (const listener of listeners) listener(event);
};

const RETRY_MS = 1_500;
/** The server sends a sign of life every 15 s. */
const SILENT_MS = 40_000;
/** Beyond this many a second the page would be busy with nothing but reading. */
const EVENTS_PER_SECOND_MAX = 1_500;
const BUSY_MS = 2_000;

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Follows until it is stopped; starts again when another token is given. */
export function followEvents(): void {
  let running = new AbortController();
  effect(() => {
    const wants = !isPaused.value && signInNeeded.value === null;
    void token.value;
    running.abort();
    running = new AbortController();
    const { signal } = running;
    if (wants) untracked(() => void run(signal));
  });
}

async function run(signal: AbortSignal): Promise<void> {
  let place: string | null = null;
  let failures = 0;
  while (!signal.aborted) {
    try {
      place = await readStream(place, signal, () => (failures = 0));
      if (place === null) {
        connection.value = { state: 'busy' };
        await pause(BUSY_MS, signal);
        tell(null);
      }
    } catch (error) {
      if (signal.aborted) return;
      const problem = asProblem(error);
      connection.value = { state: 'retrying', problem };
      if (problem.status === 401) return;
      // The missed events are past retention, or in a history that the database has lost.
      if (problem.status === 410) {
        place = null;
        tell(null);
      }
      failures += 1;
    }
    await pause(Math.min(10_000, RETRY_MS * failures), signal);
  }
}

/** Resolves with the place where it ended, or null if there was too much to follow. */
async function readStream(
  from: string | null,
  signal: AbortSignal,
  opened: () => void,
): Promise<string | null> {
  const own = new AbortController();
  signal.addEventListener('abort', () => own.abort());
  const headers: Record<string, string> = from === null ? {} : { 'last-event-id': from };
  let place = from;
  const response = await request(api('events'), { headers, signal: own.signal });
  opened();
  // Whatever happened before the stream began was not heard.
  if (from === null || connection.value.state !== 'live') tell(null);
  connection.value = { state: 'live' };
  const reader = textReader(response);
  const blocks = new BlockReader();
  let [count, since] = [0, performance.now()];
  for (;;) {
    const silent = setTimeout(() => own.abort(), SILENT_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(silent));
    if (done) return place ?? '';
    const read = blocks.push(value);
    place = read.findLast(({ id }) => id !== null)?.id ?? place;
    deliver(read);
    count += read.length;
    const seconds = (performance.now() - since) / 1_000;
    if (seconds < 1) continue;
    if (count / seconds > EVENTS_PER_SECOND_MAX) {
      own.abort();
      return null;
    }
    [count, since] = [0, performance.now()];
  }
}

function deliver(blocks: readonly StreamBlock[]): void {
  batch(() => {
    for (const { data } of blocks) if (data !== null) tell(JSON.parse(data) as EventShape);
  });
}

/** All events of one job that are kept, then whatever comes; ends with the signal. */
export const followJob = (id: string, onEvents: OnEvents, signal: AbortSignal): Promise<void> =>
  followFrom(`events?after=0&job=${encodeURIComponent(id)}`, onEvents, signal);

/** Every event after that number, then whatever comes; ends with the signal. */
export const followLog = (after: string, onEvents: OnEvents, signal: AbortSignal): Promise<void> =>
  followFrom(`events?after=${encodeURIComponent(after)}`, onEvents, signal);

type OnEvents = (events: readonly EventShape[]) => void;

/**
 * Comes back after a break, from the last block that was seen. Resolves when the server says that there is no more, and
 * throws what cannot be helped by trying again.
 */
export async function followFrom<T>(
  path: string,
  onItems: (items: readonly T[]) => void,
  signal: AbortSignal,
): Promise<void> {
  let place: string | null = null;
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = place === null ? {} : { 'last-event-id': place };
      const response = await request(api(path), { signal, headers });
      const reader = textReader(response);
      const blocks = new BlockReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const read = blocks.push(value);
        place = read.findLast(({ id }) => id !== null)?.id ?? place;
        const items = read.flatMap(({ kind, data }) =>
          data === null || kind === 'end' ? [] : [JSON.parse(data) as T],
        );
        if (items.length > 0) onItems(items);
        if (read.some(({ kind }) => kind === 'end')) return;
      }
    } catch (error) {
      const { status } = asProblem(error);
      if (signal.aborted || (status >= 400 && status < 500)) throw error;
    }
    await pause(RETRY_MS, signal);
  }
}

const textReader = (response: Response): ReadableStreamDefaultReader<string> =>
  (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .getReader();
