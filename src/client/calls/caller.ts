/**
 * Sends one call to a server that can answer it. It goes to the leader if one is known, follows redirections to
 * the leader, tries the other servers at once, and waits only when all were tried. A call that is not safe to
 * repeat is repeated only if it cannot have been executed.
 */
import type { IncomingMessage } from 'node:http';
import { type ErrorCode, MillraceError } from '../../scheduler/core/index.ts';
import { backoffMs, sleep } from '../../kit/index.ts';
import { bearer, checkTokenPath, shownToken } from '../../edge/security/index.ts';
import { BACKOFF, type Pace } from '../options.ts';
import { outcomeUnknown, problemError, retryAfterMs, unreachable, untrusted } from './problem.ts';
import { type Query, type Servers, callTargets } from './servers.ts';
import { type Outcome, type Transport, readText } from './transport.ts';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether the call is idempotent. */
  readonly isRepeatable: boolean;
  /** A name for messages: "the rerun". */
  readonly what: string;
  /** For calls that take long by design: a shorter silence does not count as a lost connection. */
  readonly responseTimeoutMs?: number;
  /** Goes on trying for as long as the caller wants, once any server has answered. */
  readonly retriesForever?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly server: string;
  /** An earlier try may have succeeded. */
  readonly isRepeated: boolean;
}

/** A stream whose head has come. */
export interface Stream {
  readonly message: IncomingMessage;
  readonly server: URL;
}

/** Answers that mean: ask another server, or ask again later. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  'not_leader',
  'loading',
  'overloaded',
  'shutting_down',
  'store_unavailable',
  'outcome_unknown',
  'deposed',
  'rewound',
  'unreachable',
]);
/** Of those, the errors which prove that nothing was done. */
const UNTOUCHED: ReadonlySet<ErrorCode> = new Set(['not_leader', 'loading', 'overloaded']);

/** A leader may change within less without being noticed. */
const WORTH_SAYING_MS = 1_000;

const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

const HEADERS = {
  accept: 'application/json, application/problem+json',
  'user-agent': 'millrace',
} as const;

/** The credentials of the caller, and where they may be sent. */
export interface Authority {
  readonly token: string | null;
  readonly insecure: boolean;
}

/** What became of one try. */
type Tried<T> =
  | { readonly kind: 'done'; readonly value: T }
  | {
      readonly kind: 'failed';
      readonly error: MillraceError;
      readonly waitMs: number | null;
      readonly mayBeDone: boolean;
    };

export class Caller {
  readonly #transport: Transport;
  readonly #servers: Servers;
  readonly #pace: Pace;
  readonly #authority: Authority;
  readonly #shown: (address: string) => string | null;
  readonly #targetOf = callTargets();

  constructor(transport: Transport, servers: Servers, pace: Pace, authority: Authority) {
    this.#transport = transport;
    this.#servers = servers;
    this.#pace = pace;
    this.#authority = authority;
    this.#shown = shownToken({ ...authority, isEncrypted: true });
  }

  call(call: Call): Promise<Answer> {
    const responseTimeoutMs = Math.max(this.#pace.responseTimeoutMs, call.responseTimeoutMs ?? 0);
    return this.#untilAnswered(call, responseTimeoutMs, async (message, server, isRepeated) => {
      const body = await readText(message, ANSWER_BYTES_MAX);
      if (body === null) return null;
      return { status: message.statusCode ?? 0, body, server: server.href, isRepeated };
    });
  }

  open(call: Call): Promise<Stream> {
    const responseTimeoutMs = Math.max(this.#pace.streamTimeoutMs, call.responseTimeoutMs ?? 0);
    return this.#untilAnswered(call, responseTimeoutMs, (message, server) =>
      Promise.resolve({ message, server }),
    );
  }

  /** A stream from this server broke off. */
  lost(server: URL): void {
    this.#servers.lost(server);
  }

  /** `take` answers null when the connection was lost while it read. */
  async #untilAnswered<T>(
    call: Call,
    responseTimeoutMs: number,
    take: (message: IncomingMessage, server: URL, isRepeated: boolean) => Promise<T | null>,
  ): Promise<T> {
    const startedMs = this.#pace.clock.monotonicMs();
    const tried = new Set<string>();
    const lost = new Map<string, MillraceError>();
    let failure: MillraceError | null = null;
    let waitMs: number | null = null;
    let rounds = 0;
    let said = '';
    let mayBeDone = false;
    for (;;) {
      const server = this.#servers.pick(tried) as URL;
      tried.add(server.href);
      const isRepeated: boolean = mayBeDone;
      const outcome = await this.#send(call, server, responseTimeoutMs);
      const result: Tried<T> = await this.#judge(call, server, outcome, (message) =>
        take(message, server, isRepeated),
      );
      if (result.kind === 'done') return result.value;
      mayBeDone ||= result.mayBeDone;
      waitMs = result.waitMs ?? waitMs;
      if (result.error.code === 'unreachable') lost.set(server.href, result.error);
      // A server that answers knows more than a silent one.
      if (failure === null || result.error.code !== 'unreachable') failure = result.error;
      if (this.#servers.pick(tried) !== null) continue;
      tried.clear();
      rounds += 1;
      const delayMs = this.#delayMs(rounds, waitMs);
      const leftMs = startedMs + this.#retryBudgetMs(call) - this.#pace.clock.monotonicMs();
      if (delayMs > leftMs) throw leaderOutOfReach(failure, lost) ?? failure;
      if (this.#pace.clock.monotonicMs() - startedMs >= WORTH_SAYING_MS) {
        if (said !== failure.message) this.#pace.onWait(failure);
        said = failure.message;
      }
      await sleep(this.#pace.clock, delayMs, call.signal);
      failure = null;
      waitMs = null;
      lost.clear();
    }
  }

  /** The delay that the server asks for is respected, within the retry budget. */
  #delayMs(rounds: number, wishMs: number | null): number {
    const { retryBudgetMs, random } = this.#pace;
    return Math.max(backoffMs(BACKOFF, rounds, random), Math.min(wishMs ?? 0, retryBudgetMs / 3));
  }

  #retryBudgetMs({ retriesForever = false }: Call): number {
    const { retryBudgetMs, firstContactMs } = this.#pace;
    if (!this.#servers.hasAnswered) return Math.min(retryBudgetMs, firstContactMs);
    return retriesForever ? Infinity : retryBudgetMs;
  }

  /** Throws rather than send a token unencrypted: the named leader may be on any machine. */
  #authorization(server: URL): Readonly<Record<string, string>> {
    const { token, insecure } = this.#authority;
    if (token !== null) checkTokenPath(server, insecure);
    const { hostname, port, protocol } = server;
    const shown = this.#shown(`${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`);
    return shown === null ? {} : { authorization: bearer(shown) };
  }

  async #send(call: Call, server: URL, responseTimeoutMs: number): Promise<Outcome> {
    const body = call.body === undefined ? null : Buffer.from(call.body);
    return this.#transport.send({
      method: call.method,
      target: this.#targetOf(server, call.path, call.query),
      headers: {
        ...HEADERS,
        ...this.#authorization(server),
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...call.headers,
      },
      body,
      isAlone: !call.isRepeatable,
      responseTimeoutMs,
      signal: call.signal,
    });
  }

  /** Throws errors that no retry can fix. */
  async #judge<T>(
    call: Call,
    server: URL,
    outcome: Outcome,
    take: (message: IncomingMessage) => Promise<T | null>,
  ): Promise<Tried<T>> {
    if (outcome.kind === 'lost') return this.#lost(call, server, outcome.error, outcome.mayBeDone);
    this.#servers.answered();
    const { message } = outcome;
    const status = message.statusCode ?? 0;
    if (status >= 200 && status < 300) {
      const value = await take(message);
      if (value !== null) return { kind: 'done', value };
      return this.#lost(call, server, new Error('The response ended prematurely.'), true);
    }
    const body = await readText(message, ANSWER_BYTES_MAX);
    call.signal?.throwIfAborted();
    const error = problemError(status, body ?? '', server.href);
    if (!isPassing(error)) throw error;
    const mayBeDone = !UNTOUCHED.has(error.code);
    if (!call.isRepeatable && mayBeDone) throw error;
    // The newly named leader replaces the one that we followed here.
    this.#servers.lost(server);
    const leaderUrl = error.leader?.url ?? null;
    if (leaderUrl !== null) this.#servers.follow(server, leaderUrl);
    return { kind: 'failed', error, waitMs: retryAfterMs(message.headers), mayBeDone };
  }

  #lost(call: Call, server: URL, error: Error, mayBeDone: boolean): Tried<never> {
    call.signal?.throwIfAborted();
    this.#servers.lost(server);
    const hopeless = untrusted(server.href, error);
    if (hopeless !== null) throw hopeless;
    if (mayBeDone && !call.isRepeatable) throw outcomeUnknown(call.what, error);
    const why = unreachable(this.#servers.toString(), error);
    return { kind: 'failed', error: why, waitMs: null, mayBeDone };
  }
}

/** Another server, or a later call, may succeed. */
export function isPassing(error: MillraceError): boolean {
  return PASSING.has(error.code);
}

/** Some server knows the leader, and it is the one that did not answer. */
function leaderOutOfReach(
  failure: MillraceError,
  lost: ReadonlyMap<string, MillraceError>,
): MillraceError | null {
  const { code, leader } = failure;
  const url = leader?.url ?? null;
  if (code !== 'not_leader' || leader === undefined || url === null) return null;
  const cause = URL.canParse(url) ? lost.get(new URL(url).href) : undefined;
  if (cause === undefined) return null;
  return new MillraceError({
    code: 'not_leader',
    what: `The leader ${leader.nodeId} is not reachable at ${url}.`,
    todo: 'If it is running, set its --advertise to a host that is reachable from here.',
    leader,
    cause,
    why: cause.why,
  });
}
