/** One request and its answer: routed, authorised, handled, sent, counted. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import type { ByteBudget, ByteShare, Clock } from '../../kit/index.ts';
import { checkPage, type Access, type Credentials } from '../security/index.ts';
import { readJson } from './body.ts';
import type { Metrics } from './metrics.ts';
import { problemHeaders, problemOf } from './problem.ts';
import { badInput } from './refusal.ts';
import type { Answer, ApiParts } from './route.ts';
import { type Found, readQuery, type Router } from './router.ts';
import { send } from './backpressure.ts';
import { streamEvents } from './sse.ts';

export interface ExchangeOptions {
  readonly router: Router;
  readonly parts: ApiParts;
  readonly access: Access;
  /** Whether the server is only for this machine: see `checkPage`. */
  readonly isLocal: boolean;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** What requests may take in memory together. */
  readonly intake: ByteBudget;
  /** Called with internal errors. */
  readonly onFault: (error: unknown) => void;
  readonly isStopping: () => boolean;
}

const ALWAYS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

export class Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;
  readonly #expectsWord: boolean;
  readonly #over: AbortController = new AbortController();
  readonly #share: ByteShare;
  #route = 'none';

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    options: ExchangeOptions,
    expectsWord: boolean,
  ) {
    this.#request = request;
    this.#response = response;
    this.#options = options;
    this.#expectsWord = expectsWord;
    this.#share = options.intake.share();
    // An error of a broken socket; the exchange itself sees its end.
    request.on('error', () => {});
    response.on('error', () => {});
    response.on('close', () => this.stop());
  }

  /** Streams end; what is nearly done goes on. */
  stop(): void {
    this.#over.abort();
  }

  /** Never rejects. */
  async run(): Promise<void> {
    const { clock, metrics } = this.#options;
    const startedAtMs = clock.monotonicMs();
    try {
      await this.#answer(await this.#handle());
    } catch (error) {
      this.#share.release();
      await this.#refuse(error);
    }
    this.#share.release();
    const { method = '' } = this.#request;
    const known = this.#route === 'none' ? 'other' : method;
    const { statusCode } = this.#response;
    metrics.countRequest(known, this.#route, statusCode, clock.monotonicMs() - startedAtMs);
  }

  async #handle(): Promise<Answer> {
    const { router, parts, access, isLocal, isStopping } = this.#options;
    const request = this.#request;
    if (isStopping()) throw shuttingDown();
    const { method = '', url = '' } = request;
    if (access.scope !== 'tokens') checkPage(request.headers, { method, isLocal });
    if (!url.startsWith('/')) throw badInput('', 'The path must start with a slash.');
    const [pathname = '', ...rest] = url.split('?');
    const found: Found = router.find(method, pathname);
    const { route, path } = found;
    this.#route = route.path;
    const known =
      route.role === null ? null : await access.allow(credentialsOf(request), route.role);
    const call = {
      path,
      ...readQuery(route, rest.join('?')),
      headers: request.headers,
      known,
      caller: known === null || access.scope !== 'tokens' ? connectionOf(request) : known.name,
      signal: this.#over.signal,
      body: () => this.#body(),
    };
    return route.handle(call, parts);
  }

  #body(): Promise<unknown> {
    const { clock, parts } = this.#options;
    const goOn = (): void => {
      if (this.#expectsWord) this.#response.writeContinue();
    };
    return readJson(this.#request, { clock, limits: parts.limits, goOn, share: this.#share });
  }

  async #answer(answer: Answer): Promise<void> {
    const response = this.#response;
    switch (answer.kind) {
      case 'json': {
        const { asOf, value, status, headers } = answer;
        const text = `${JSON.stringify(value)}\n`;
        const more = { ...headers, ...asOfHeader(asOf), 'content-type': 'application/json' };
        return this.#end(status, more, text);
      }
      case 'text':
        return this.#end(answer.status, { 'content-type': answer.type }, answer.text);
      case 'file':
        return this.#end(
          answer.status,
          { ...answer.headers, 'content-type': answer.type },
          answer.bytes,
        );
      case 'empty':
        return this.#end(answer.status, {}, null);
      case 'pieces': {
        const type = { 'content-type': 'application/json' };
        response.writeHead(answer.status, {
          ...this.#headers(),
          ...asOfHeader(answer.asOf),
          ...type,
        });
        if (this.#isHead) return void response.end();
        const { clock, parts } = this.#options;
        const how = { clock, stallMs: parts.limits.stallMs };
        for (const piece of answer.pieces) if (!(await send(response, piece, how))) return;
        return void response.end();
      }
      case 'bytes':
        return answer.isEndless === true
          ? this.#counted(() => this.#bytes(answer))
          : this.#bytes(answer);
      case 'events':
        return this.#stream(answer);
    }
  }

  async #bytes({
    status,
    type,
    pieces,
    headers,
  }: Extract<Answer, { kind: 'bytes' }>): Promise<void> {
    const { clock, parts } = this.#options;
    const response = this.#response;
    const how = { clock, stallMs: parts.limits.stallMs };
    let hasBegun = false;
    const begin = (): void => {
      hasBegun = true;
      response.writeHead(status, { ...this.#headers(), ...headers, 'content-type': type });
    };
    for await (const piece of pieces) {
      if (!hasBegun) begin();
      if (this.#isHead || !(await send(response, piece, how))) break;
    }
    if (!hasBegun) begin();
    if (!response.destroyed) response.end();
  }

  async #stream({ pages }: Extract<Answer, { kind: 'events' }>): Promise<void> {
    const { clock, parts } = this.#options;
    const { stallMs, heartbeatMs } = parts.limits;
    const response = this.#response;
    const headers = this.#headers();
    if (this.#isHead) {
      return void response
        .writeHead(200, { ...headers, 'content-type': 'text/event-stream' })
        .end();
    }
    const { signal } = this.#over;
    await this.#counted(() =>
      streamEvents(response, pages, { clock, stallMs, heartbeatMs, signal, headers }),
    );
  }

  async #counted(stream: () => Promise<void>): Promise<void> {
    const { metrics, parts } = this.#options;
    const { sseClientsMax } = parts.limits;
    if (metrics.sseClients >= sseClientsMax) throw tooManyStreams(sseClientsMax);
    metrics.sseClients += 1;
    try {
      await stream();
    } finally {
      metrics.sseClients -= 1;
    }
  }

  async #refuse(thrown: unknown): Promise<void> {
    const { signal } = this.#over;
    // The handler reports that it was cut off; this is not an error.
    const error = signal.aborted && thrown === signal.reason ? shuttingDown() : thrown;
    const problem = problemOf(error);
    const isOurs = !isMillraceError(error) || problem.status === 500;
    if (isOurs) this.#options.onFault(error);
    // Too late for an answer: the client must not take what it has for the whole.
    if (this.#response.headersSent) return void this.#response.destroy();
    const headers = problemHeaders(error, problem);
    await this.#end(problem.status, headers, `${JSON.stringify(problem)}\n`);
  }

  /** Sends the whole answer. If the request is not read to its end, the connection cannot be kept. */
  async #end(
    status: number,
    headers: Readonly<Record<string, string>>,
    text: string | Buffer | null,
  ): Promise<void> {
    const response = this.#response;
    const isUnread = mayStillSend(this.#request);
    const length = text === null ? {} : { 'content-length': String(Buffer.byteLength(text)) };
    const closing = isUnread ? { connection: 'close' } : {};
    response.writeHead(status, { ...this.#headers(), ...headers, ...length, ...closing });
    if (!isUnread) return void response.end(text ?? undefined);
    // Closed while it still sends, a client would see a broken connection and no answer.
    if (text !== null) response.write(text);
    await this.#linger();
    response.end();
  }

  #linger(): Promise<void> {
    const { clock, parts } = this.#options;
    const request = this.#request;
    return new Promise((resolve) => {
      const finish = (): void => {
        cancel();
        request.off('end', finish).off('close', finish);
        resolve();
      };
      const cancel = clock.after(parts.limits.lingerMs, finish);
      // A client that waits for `100 Continue` gets none, and sends nothing.
      if (this.#expectsWord || request.destroyed) finish();
      else request.on('end', finish).on('close', finish).resume();
    });
  }

  #headers(): Readonly<Record<string, string>> {
    return this.#options.isStopping() ? { ...ALWAYS, connection: 'close' } : ALWAYS;
  }

  get #isHead(): boolean {
    return this.#request.method === 'HEAD';
  }
}

function asOfHeader(asOf: { readonly seq: number } | undefined): Record<string, string> {
  return asOf === undefined ? {} : { 'millrace-as-of': String(asOf.seq) };
}

/** The platform reads the rest of a short body by itself, and keeps the connection. */
const SHORT_BODY_BYTES = 65_536;

function mayStillSend({ headers, complete }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return !complete && (encoding !== undefined || Number(length ?? 0) > SHORT_BODY_BYTES);
}

function credentialsOf({ headers, socket }: IncomingMessage): Credentials {
  const { authorization } = headers;
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  const peer = { connection: socket, remoteAddress, remotePort, localAddress, localPort };
  return authorization === undefined ? { peer } : { peer, authorization };
}

function tooManyStreams(max: number): MillraceError {
  return new MillraceError({
    code: 'overloaded',
    what: `The limit of ${max} open event streams is reached.`,
    todo: 'Retry later, or use another node.',
  });
}

function shuttingDown(): MillraceError {
  return new MillraceError({
    code: 'shutting_down',
    what: 'The server is shutting down.',
    todo: 'Use another node.',
  });
}

/** Without tokens callers have no names; their connections distinguish them. */
function connectionOf({ socket }: IncomingMessage): string {
  return `${socket.remoteAddress}:${socket.remotePort}`;
}
