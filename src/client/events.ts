/**
 * The event log as one endless stream, over as many connections as it takes: after a lost one it goes
 * on behind the last event seen, at whichever server answers. Nothing comes twice, nothing is left out.
 */
import { MillraceError } from '../scheduler/core/index.ts';
import type { EventShape } from '../scheduler/contract/index.ts';
import type { Caller, Stream } from './calls/caller.ts';
import type { EventSubscription } from './client.ts';
import { backoffMs, sleep } from '../kit/index.ts';
import { parsedObject, strangeAnswer } from './calls/problem.ts';
import { type SseMessage, SseParser } from './calls/sse.ts';
import { BACKOFF, type CallOptions, type EventsOptions, type Pace } from './options.ts';

export interface Reconnecting {
  /** Called before the stream is opened again; what it throws ends the stream. */
  readonly onReconnect?: () => Promise<void>;
}

interface Followed extends CallOptions, Pick<EventsOptions, 'until'>, Reconnecting {
  readonly after: number;
  readonly job: string | undefined;
}

export async function* followEvents(
  caller: Caller,
  pace: Pace,
  options: Followed,
): AsyncGenerator<EventShape, void> {
  const { signal, retriesForever = false, until = Infinity } = options;
  let seen = options.after;
  /** Where to go on: the last id of a stream names also the history that its number belongs to. */
  let last = String(seen);
  let fruitless = 0;
  let fruitlessSinceMs = pace.clock.monotonicMs();
  while (seen < until) {
    const stream = await caller.open({
      method: 'GET',
      path: '/api/v1/events',
      query: { after: last, ...(options.job === undefined ? {} : { job: options.job }) },
      headers: { accept: 'text/event-stream' },
      isRepeatable: true,
      what: 'the stream of events',
      retriesForever,
      signal,
    });
    for await (const message of messagesOf(stream)) {
      const place = placeOf(message);
      if (place === null || place <= seen) continue;
      seen = place;
      last = message.id ?? last;
      fruitless = 0;
      const event = message.data === null ? null : eventOf(message.data, stream.server.href);
      if (event !== null) yield event;
      // Leaving the loop here closes the connection.
      if (seen >= until) return;
    }
    signal?.throwIfAborted();
    caller.lost(stream.server);
    fruitless += 1;
    if (fruitless === 1) fruitlessSinceMs = pace.clock.monotonicMs();
    const delayMs = fruitless === 1 ? 0 : backoffMs(BACKOFF, fruitless - 1, pace.random);
    const fruitlessMs = pace.clock.monotonicMs() + delayMs - fruitlessSinceMs;
    if (!retriesForever && fruitlessMs > pace.retryBudgetMs) throw breaksOff();
    if (delayMs > 0) await sleep(pace.clock, delayMs, signal);
    await options.onReconnect?.();
  }
}

/** Ends when the connection does, in whatever way. */
export async function* messagesOf({ message, server }: Stream): AsyncGenerator<SseMessage> {
  if (!(message.headers['content-type'] ?? '').startsWith('text/event-stream')) {
    message.destroy();
    throw strangeAnswer(message.statusCode ?? 0, server.href);
  }
  const parser = new SseParser();
  const chunks = message[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    for (;;) {
      // Only a failed read ends the stream quietly; an internal error or one of the consumer must not.
      const next = await chunks.next().catch(() => ({ done: true, value: undefined }));
      if (next.done === true || next.value === undefined) return;
      yield* parser.push(next.value);
    }
  } finally {
    message.destroy();
  }
}

function placeOf({ id }: SseMessage): number | null {
  const number = id === null ? null : /^(\d{1,15})(?:@|$)/.exec(id);
  return number === null ? null : Number(number[1]);
}

function eventOf(data: string, server: string): EventShape {
  const value = parsedObject(data);
  if (typeof value?.['kind'] !== 'string') throw strangeAnswer(200, server);
  return value as unknown as EventShape;
}

function breaksOff(): MillraceError {
  return new MillraceError({
    code: 'unreachable',
    what: 'The event stream ends as soon as it starts.',
    todo: 'Check whether a proxy in between closes long responses.',
  });
}

/** One event at a time: the next one is handed over when `fn` has finished with this one. */
export function subscribe(
  events: (signal: AbortSignal) => AsyncIterable<EventShape>,
  fn: (event: EventShape) => void | Promise<void>,
): EventSubscription {
  const over = new AbortController();
  const run = async (): Promise<void> => {
    try {
      for await (const event of events(over.signal)) {
        if (over.signal.aborted) return;
        await fn(event);
      }
    } catch (error) {
      if (!over.signal.aborted) throw error;
    }
  };
  const ended = run();
  // It is for those who ask.
  ended.catch(() => {});
  return { ended, stop: () => over.abort() };
}
