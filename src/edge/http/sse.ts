/** Server-sent events: pages of the log become blocks of text, one page at a time. */
import type { ServerResponse } from 'node:http';
import { isMillraceError } from '../../scheduler/core/index.ts';
import { deferred } from '../../kit/index.ts';
import type { EventPage, EventShape } from '../../scheduler/contract/index.ts';
import { send, type SendOptions } from './backpressure.ts';

export interface SseOptions extends SendOptions {
  /** The stream is never silent for longer. */
  readonly heartbeatMs: number;
  /** Aborts when the client has gone or the server stops. */
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
}

/** How long a client should wait before it comes back. */
const RETRY_MS = 2_000;
/** A log that does not answer at once has accepted the follower all the same. */
const ACCEPTED_MS = 1_000;

type Next = IteratorResult<EventPage, unknown>;

/**
 * Throws only before anything was written: what goes wrong later ends the stream with a comment, and
 * the client that reconnects learns why.
 */
export async function streamEvents(
  response: ServerResponse,
  pages: AsyncIterable<EventPage>,
  options: SseOptions,
): Promise<void> {
  const { signal } = options;
  const iterator = pages[Symbol.asyncIterator]();
  const ask = (): Promise<Next> => {
    const next = iterator.next();
    // A page that is not needed any more may fail silently.
    next.catch(() => {});
    return next;
  };
  try {
    let next = ask();
    await within(next, ACCEPTED_MS, options);
    response.writeHead(200, {
      ...options.headers,
      'content-type': 'text/event-stream; charset=utf-8',
      // Proxies that gather what they pass on would hold events back.
      'x-accel-buffering': 'no',
    });
    let isOpen = await send(response, `retry: ${RETRY_MS}\n\n`, options);
    while (isOpen && !signal.aborted) {
      const result: Next | null = await within(next, options.heartbeatMs, options);
      if (result === null) {
        isOpen = signal.aborted || (await send(response, ': still here\n\n', options));
        continue;
      }
      if (result.done === true) break;
      isOpen = await send(response, pageBytes(result.value), options);
      if (isOpen) next = ask();
    }
    await farewell(
      response,
      signal.aborted ? 'the server is shutting down' : 'the stream ends',
      options,
    );
  } catch (error) {
    if (!response.headersSent) throw error;
    await farewell(response, isMillraceError(error) ? error.code : 'invariant', options);
    if (!isMillraceError(error)) throw error;
  } finally {
    // Not awaited: a reader that hangs must not hold the stream.
    void iterator.return?.().catch(() => {});
  }
}

async function farewell(
  response: ServerResponse,
  why: string,
  options: SendOptions,
): Promise<void> {
  if (await send(response, `: ${why}\n\n`, options)) response.end();
}

/** What `next` brings, or null when it takes longer or the signal aborts. */
async function within(
  next: Promise<Next>,
  ms: number,
  { clock, signal }: SseOptions,
): Promise<Next | null> {
  const waited = deferred<null>();
  const giveUp = (): void => waited.resolve(null);
  const cancel = clock.after(ms, giveUp);
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([next, waited.promise]);
  } finally {
    cancel();
    signal.removeEventListener('abort', giveUp);
  }
}

/** Followers at the same position share a page, which is serialised once for all of them. */
const encoded: WeakMap<EventPage, Buffer> = new WeakMap();
/** Followers of different things share events. */
const blocks: WeakMap<EventShape<Date>, string> = new WeakMap();

/** Without events only the position is sent, so that a client that reconnects does not start further back. */
function pageBytes(page: EventPage): Buffer {
  const known = encoded.get(page);
  if (known !== undefined) return known;
  const { events, asOf } = page;
  const history = asOf.history === undefined ? '' : `@${asOf.history}`;
  const texts = events.map((event) => `id: ${event.seq}${history}\n${blockOf(event)}`);
  if (events.at(-1)?.seq !== asOf.seq) texts.push(`id: ${asOf.seq}${history}\n\n`);
  const bytes = Buffer.from(texts.join(''));
  encoded.set(page, bytes);
  return bytes;
}

/** All but the id, which names the history as well. */
function blockOf(event: EventShape<Date>): string {
  const known = blocks.get(event);
  if (known !== undefined) return known;
  const block = `event: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`;
  blocks.set(event, block);
  return block;
}
