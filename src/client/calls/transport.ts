/** One HTTP request over a kept-alive connection, without any retry logic. */
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { ClientTls } from '../../edge/security/index.ts';
import type { Target } from './servers.ts';

export interface Outgoing {
  readonly method: string;
  readonly target: Target;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  /**
   * On a new connection: a kept-alive one may be closed by the other end just when it is used, and then it is
   * unknown whether the request arrived.
   */
  readonly isAlone: boolean;
  readonly responseTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

export type Outcome =
  | { readonly kind: 'answer'; readonly message: IncomingMessage }
  /** `mayBeDone`: the request may have reached the server before the connection was lost. */
  | { readonly kind: 'lost'; readonly mayBeDone: boolean; readonly error: Error };

/** A machine that is there answers a connection soon, however busy it is; another server may be nearer. */
const CONNECT_MS = 3_000;

export class Transport {
  readonly #tls: ClientTls | undefined;
  readonly #clock: Clock;
  readonly #plain: http.Agent = new http.Agent({ keepAlive: true });
  readonly #encrypted: https.Agent;

  constructor(tls: ClientTls | undefined, clock: Clock) {
    this.#tls = tls;
    this.#clock = clock;
    this.#encrypted = new https.Agent({ keepAlive: true, ...tls });
  }

  /** Resolves with the head of the answer. Rejects only when the signal aborts. */
  async send(outgoing: Outgoing): Promise<Outcome> {
    const { signal } = outgoing;
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const request = this.#request(outgoing);
      const silence = this.#watchResponse(request, outgoing.responseTimeoutMs);
      let mayBeDone = false;
      const abort = (): void => void request.destroy();
      signal?.addEventListener('abort', abort, { once: true });
      request.on('socket', (socket) => {
        // Only a new connection can be refused; on a kept one everything is possible at once.
        mayBeDone = !socket.connecting;
        if (mayBeDone) return silence.heard();
        socket.once(outgoing.target.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
          mayBeDone = true;
          silence.heard();
        });
      });
      request.on('finish', () => silence.heard());
      request.on('response', (message) => {
        silence.heard();
        // There may be no listener; a reader sees the error itself.
        message.on('error', () => {});
        message.on('close', () => {
          silence.stop();
          signal?.removeEventListener('abort', abort);
        });
        resolve({ kind: 'answer', message });
      });
      request.on('error', (error) => {
        silence.stop();
        signal?.removeEventListener('abort', abort);
        if (signal?.aborted === true) reject(reasonOf(signal));
        else resolve({ kind: 'lost', mayBeDone, error });
      });
      request.end(outgoing.body ?? undefined);
    });
  }

  close(): void {
    this.#plain.destroy();
    this.#encrypted.destroy();
  }

  #request({ method, target, headers, body, isAlone }: Outgoing): ClientRequest {
    const length = body === null ? {} : { 'content-length': String(body.length) };
    const options = { ...target, method, headers: { ...headers, ...length } };
    if (target.protocol === 'http:') {
      return http.request({ ...options, agent: isAlone ? false : this.#plain });
    }
    const agent = isAlone ? new https.Agent({ ...this.#tls, keepAlive: false }) : this.#encrypted;
    return https.request({ ...options, agent });
  }

  /** Ends a request when neither side has sent a byte for this long. */
  #watchResponse(
    request: ClientRequest,
    responseTimeoutMs: number,
  ): { heard(): void; stop(): void } {
    let message: IncomingMessage | null = null;
    let moved = 0;
    let isOver = false;
    let cancel = (): void => {};
    const arm = (ms = responseTimeoutMs): void => {
      cancel();
      if (!isOver) cancel = this.#clock.after(ms, end);
    };
    const end = (): void => {
      const { bytesRead = 0, bytesWritten = 0 } = request.socket ?? {};
      const now = bytesRead + bytesWritten;
      // Unread data means that we are slow, not that the server is silent.
      const isAlive = now > moved || (message?.readableLength ?? 0) > 0;
      moved = now;
      if (isAlive) return arm();
      request.destroy(
        Object.assign(new Error('The server did not respond in time.'), { code: 'ETIMEDOUT' }),
      );
    };
    request.once('response', (head) => (message = head));
    arm(Math.min(responseTimeoutMs, CONNECT_MS));
    return {
      heard() {
        const { bytesRead = 0, bytesWritten = 0 } = request.socket ?? {};
        moved = bytesRead + bytesWritten;
        arm();
      },
      stop() {
        isOver = true;
        cancel();
      },
    };
  }
}

/** The whole body as text, or null when the connection was lost on the way. */
export async function readText(message: IncomingMessage, bytesMax: number): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > bytesMax) break;
    }
  } catch {
    return null;
  }
  if (bytes > bytesMax) {
    throw new MillraceError({
      code: 'too_large',
      what: `The response is larger than ${bytesMax} bytes.`,
      todo: 'Request less at a time.',
    });
  }
  return message.complete ? Buffer.concat(chunks).toString('utf8') : null;
}

function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new DOMException(String(reason), 'AbortError');
}
