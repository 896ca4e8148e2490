/**
 * A client for tests: knows every node, follows the leader's address where a node gives it, and tries
 * again until its retry budget ends. It remembers what it was promised, for the audit.
 */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/kit/index.ts';
import { pauseMs } from './deadline.ts';
import { sseEvents } from './sse.ts';
import type { SseEvent } from './sse.ts';

export interface TaskSeen {
  readonly id: string;
  readonly state: string;
  readonly attempt: number;
  readonly node: string | null;
  readonly result: unknown;
  readonly error: { readonly code: string; readonly message: string } | null;
}

export interface JobSeen {
  readonly id: string;
  readonly state: string;
  readonly tasks: readonly TaskSeen[];
}

export interface NodeSeen {
  readonly id: string;
  readonly status: string;
}

export interface LeaderSeen {
  readonly nodeId: string;
  readonly url: string;
  readonly grpc: string;
  readonly epoch: number;
}

export interface ClientOptions {
  /** How long a call goes on trying. */
  readonly retryBudgetMs?: number;
  /** How long a node may keep silent before the next one is asked. */
  readonly responseTimeoutMs?: number;
}

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const ENDED = new Set(['succeeded', 'failed', 'cancelled']);
const BETWEEN_TRIES_MS = 50;

/** An answer that no other node would give differently. */
export class RefusedCall extends Error {
  readonly status: number;
  readonly problem: unknown;

  constructor(call: Call, status: number, problem: unknown) {
    super(`${call.method} ${call.path}: ${status} ${JSON.stringify(problem)}`);
    this.status = status;
    this.problem = problem;
  }
}

export class TestClient {
  /** Ids of all jobs that a node said it has accepted. */
  readonly acknowledged: Set<string> = new Set();
  readonly #urls: () => readonly string[];
  readonly #retryBudgetMs: number;
  readonly #responseTimeoutMs: number;
  /** Whom the last answer named, or came from. */
  #favourite: string | null = null;
  /** Otherwise the nodes are asked in turn. */
  #turn = 0;

  /** The nodes are asked for at every try, because tests start and kill them. */
  constructor(urls: () => readonly string[], options: ClientOptions = {}) {
    this.#urls = urls;
    this.#retryBudgetMs = options.retryBudgetMs ?? 30_000;
    this.#responseTimeoutMs = options.responseTimeoutMs ?? 2_000;
  }

  /** With a key, made up if need be: a try whose answer is lost may be repeated without harm. */
  async submit(document: Readonly<Record<string, unknown>>): Promise<JobSeen> {
    const body = { idempotencyKey: randomUUID(), ...document };
    const job = (await this.call({ method: 'POST', path: '/api/v1/jobs', body })) as JobSeen;
    this.acknowledged.add(job.id);
    return job;
  }

  async job(id: string): Promise<JobSeen> {
    return (await this.call({ method: 'GET', path: `/api/v1/jobs/${id}` })) as JobSeen;
  }

  async cancel(id: string): Promise<JobSeen> {
    return (await this.call({ method: 'POST', path: `/api/v1/jobs/${id}/cancel` })) as JobSeen;
  }

  /** Under an id of its own: a try whose answer is lost is not taken in twice. */
  async signal(id: string, name: string, body: unknown): Promise<JobSeen> {
    const headers = { 'idempotency-key': randomUUID() };
    const path = `/api/v1/jobs/${id}/signals/${name}`;
    return (await this.call({ method: 'POST', path, body, headers })) as JobSeen;
  }

  async drain(node: string): Promise<unknown> {
    return this.call({ method: 'POST', path: `/api/v1/nodes/${node}/drain` });
  }

  /** Those that execute: a server without slots is listed as well, a moment after its start. */
  async nodes(): Promise<readonly NodeSeen[]> {
    return (await this.allNodes()).filter(({ slots }) => slots > 0);
  }

  async allNodes(): Promise<readonly (NodeSeen & { readonly slots: number })[]> {
    const answer = await this.call({ method: 'GET', path: '/api/v1/nodes' });
    const nodes = Array.isArray(answer) ? answer : (answer as { nodes: unknown }).nodes;
    return nodes as readonly (NodeSeen & { readonly slots: number })[];
  }

  async leader(): Promise<LeaderSeen> {
    return (await this.call({ method: 'GET', path: '/api/v1/leader' })) as LeaderSeen;
  }

  /** The job as it is once it has ended. Hears of the end by the log, so nothing is asked in vain. */
  async waitForJob(id: string, limitMs: number = this.#retryBudgetMs): Promise<JobSeen> {
    const limit = AbortSignal.timeout(limitMs);
    let seen = await this.job(id);
    if (ENDED.has(seen.state)) return seen;
    try {
      for await (const { event } of this.events({ job: id, signal: limit })) {
        if (event.startsWith('job.')) seen = await this.job(id);
        if (ENDED.has(seen.state)) return seen;
      }
    } catch (error) {
      if (!limit.aborted) throw error;
    }
    const last = await this.job(id).catch(() => seen);
    throw new Error(`Job ${id} did not end within ${limitMs} ms: ${JSON.stringify(last)}`);
  }

  /** Resolves at the first event that fits. */
  async waitForEvent(
    fits: (event: SseEvent) => boolean,
    options: { readonly job?: string; readonly limitMs?: number } = {},
  ): Promise<SseEvent> {
    const limit = AbortSignal.timeout(options.limitMs ?? this.#retryBudgetMs);
    const { job } = options;
    const given = job === undefined ? {} : { job };
    for await (const event of this.events({ ...given, signal: limit }))
      if (fits(event)) return event;
    throw new Error('The log ended.');
  }

  /** From the beginning, over all interruptions, without end. Throws when the signal aborts. */
  async *events(options: {
    readonly job?: string;
    readonly after?: number;
    readonly signal: AbortSignal;
  }): AsyncGenerator<SseEvent> {
    const { signal, job } = options;
    let after = options.after ?? 0;
    for (;;) {
      signal.throwIfAborted();
      const node = this.#next();
      const url = new URL('/api/v1/events', node);
      url.searchParams.set('after', `${after}`);
      if (job !== undefined) url.searchParams.set('job', job);
      let isAnswered = false;
      const answered = (): void => {
        isAnswered = true;
        this.#favourite = node;
      };
      try {
        for await (const event of this.#stream(url, signal, answered)) {
          after = event.id;
          yield event;
        }
      } catch (error) {
        if (signal.aborted || error instanceof RefusedCall) throw error;
        // A node that answered may have had nothing to say; if it is gone, the next try will show.
        if (!isAnswered) this.#passOver(node);
      }
      await pauseMs(BETWEEN_TRIES_MS);
    }
  }

  /** One connection; a node that was stopped keeps it open and says nothing, so silence ends it. */
  async *#stream(url: URL, signal: AbortSignal, answered: () => void): AsyncGenerator<SseEvent> {
    const silence = new AbortController();
    let cancel = (): void => {};
    const heard = (): void => {
      cancel();
      cancel = systemClock.after(this.#responseTimeoutMs, () => silence.abort());
    };
    heard();
    try {
      const response = await fetch(url, { signal: AbortSignal.any([signal, silence.signal]) });
      const call: Call = { method: 'GET', path: url.pathname };
      if (response.status === 410) throw new RefusedCall(call, 410, await response.text());
      if (!response.ok || response.body === null) throw new Error(`events: ${response.status}`);
      answered();
      yield* sseEvents(response.body, heard);
    } finally {
      cancel();
      silence.abort();
    }
  }

  async call(call: Call): Promise<unknown> {
    const until = systemClock.monotonicMs() + this.#retryBudgetMs;
    let why: unknown = new Error('there is no node');
    while (systemClock.monotonicMs() < until) {
      const node = this.#next();
      try {
        const outcome = await this.#try(call, node);
        if (outcome.isFinal) return outcome.answer;
        why = outcome.answer;
      } catch (error) {
        if (error instanceof RefusedCall) throw error;
        why = error;
        this.#passOver(node);
      }
      await pauseMs(BETWEEN_TRIES_MS);
    }
    throw new Error(`${call.method} ${call.path}: no answer in ${this.#retryBudgetMs} ms`, {
      cause: why,
    });
  }

  async #try(call: Call, node: string): Promise<{ isFinal: boolean; answer: unknown }> {
    const response = await fetch(new URL(call.path, node), {
      method: call.method,
      signal: AbortSignal.timeout(this.#responseTimeoutMs),
      ...(call.body === undefined
        ? {}
        : {
            body: JSON.stringify(call.body),
            headers: { 'content-type': 'application/json', ...call.headers },
          }),
    });
    const text = await response.text();
    const answer: unknown = text === '' ? null : JSON.parse(text);
    if (response.ok) {
      this.#favourite = node;
      return { isFinal: true, answer };
    }
    if (response.status < 500 && response.status !== 429)
      throw new RefusedCall(call, response.status, answer);
    const named = leaderIn(answer);
    if (named === null || named === node) this.#passOver(node);
    else this.#favourite = named;
    return { isFinal: false, answer };
  }

  /** Calls that fail together pass over the same node once, not the one after it as well. */
  #passOver(node: string): void {
    if (this.#next() !== node) return;
    this.#favourite = null;
    if (this.#next() === node) this.#turn += 1;
  }

  #next(): string {
    const urls = this.#urls();
    const url = this.#favourite ?? urls[this.#turn % urls.length];
    if (url === undefined) throw new Error('there is no node to ask');
    return url;
  }
}

function leaderIn(problem: unknown): string | null {
  if (typeof problem !== 'object' || problem === null || !('leader' in problem)) return null;
  const { leader } = problem;
  if (typeof leader !== 'object' || leader === null || !('url' in leader)) return null;
  return typeof leader.url === 'string' ? leader.url : null;
}
