/**
 * `http` takes `{url, method?, headers?, body?, auth?, timeoutMs?, maxBytes?, redirects?, retryOn?}` and answers
 * `{status, headers, body}`. Anything but 2xx fails the task: for good, unless the status says that another
 * try may help. Each request makes a connection of its own, so that each has its address checked.
 */
import { request as httpRequest } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Clock } from '../../../kit/index.ts';
import type { Executor, TaskContext } from '../executor.ts';
import { TaskFailure } from '../failure.ts';
import { guarded, refuseLiteral } from './address.ts';
import { beginningOf, bodyOf, resultOf } from './answer.ts';
import type { HttpResult } from './answer.ts';
import { isRedirect, redirected } from './redirect.ts';
import { readPlan } from './request.ts';
import type { HttpPlan, HttpRequest } from './request.ts';
import { shown, without } from './request-text.ts';

export interface HttpOptions {
  /** Whether no connection may be made to an IP address. */
  readonly isRefused: (address: string) => boolean;
  /** Turns names into addresses; the system does it if left out. */
  readonly lookup?: LookupFunction;
}

/** Too Many Requests and what passes by itself. */
const MAY_PASS: ReadonlySet<number> = new Set([408, 425, 429]);
/** The receiver wants no more of it. */
const GONE = 410;
const EXCERPT_BYTES = 300;

export function httpExecutor(clock: Clock, options: HttpOptions): Executor {
  return {
    name: 'http',
    async run(input, context) {
      const plan = readPlan(input, context.idempotencyKey, context.traceHeaders);
      return call(plan, context, clock, options);
    },
  };
}

async function call(
  plan: HttpPlan,
  { signal }: TaskContext,
  clock: Clock,
  options: HttpOptions,
): Promise<HttpResult> {
  signal.throwIfAborted();
  const stop = new AbortController();
  let isLate = false;
  const abort = (): void => stop.abort();
  signal.addEventListener('abort', abort, { once: true });
  const cancel = clock.after(plan.timeoutMs, () => {
    isLate = true;
    abort();
  });
  try {
    return await follow(plan, stop.signal, options);
  } catch (error) {
    signal.throwIfAborted();
    throw isLate ? late(plan) : failureOf(error, plan);
  } finally {
    cancel();
    signal.removeEventListener('abort', abort);
    // Nothing that is still open is wanted any more.
    stop.abort();
  }
}

async function follow(
  plan: HttpPlan,
  signal: AbortSignal,
  options: HttpOptions,
): Promise<HttpResult> {
  let { request } = plan;
  for (let redirects = 0; redirects <= plan.redirectsMax; redirects += 1) {
    const response = await send(request, signal, options);
    const { statusCode: status = 0, headers } = response;
    const { location } = headers;
    if (status >= 200 && status < 300) return read(response, request, plan);
    if (plan.redirectsMax === 0 || !isRedirect(status, location)) {
      throw await refusal(response, request, plan);
    }
    response.destroy();
    request = redirected(request, status, location);
  }
  throw new TaskFailure(
    'too_many_redirects',
    'fatal',
    `${shown(plan.request)} was redirected more than ${plan.redirectsMax} times.`,
  );
}

function send(
  { url, method, headers, body }: HttpRequest,
  signal: AbortSignal,
  { isRefused, lookup }: HttpOptions,
): Promise<IncomingMessage> {
  refuseLiteral(url, isRefused);
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const outgoing = open(url, {
      method,
      headers: {
        ...(headers as OutgoingHttpHeaders),
        // Left to itself the engine sends the body of a DELETE without its length.
        ...(body === null ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
      signal,
      agent: false,
      lookup: guarded(isRefused, lookup),
    });
    // Not `once`: an error after the answer began belongs to the answer too, and there is no other listener.
    outgoing.on('error', reject);
    outgoing.once('response', resolve);
    if (body === null) outgoing.end();
    else outgoing.end(body);
  });
}

async function read(
  response: IncomingMessage,
  request: HttpRequest,
  { maxBytes }: HttpPlan,
): Promise<HttpResult> {
  const body = await bodyOf(response, maxBytes);
  if (body !== null) return resultOf(response, body);
  throw new TaskFailure(
    'too_large',
    'fatal',
    `${shown(request)} answered with more than ${maxBytes} bytes. Raise maxBytes, or request less.`,
  );
}

async function refusal(
  response: IncomingMessage,
  request: HttpRequest,
  { secrets, retriesAny }: HttpPlan,
): Promise<TaskFailure> {
  const { statusCode: status = 0, headers } = response;
  const text = without(secrets, await beginningOf(response, EXCERPT_BYTES)).trim();
  const wait = headers['retry-after'];
  const parts = [
    `${shown(request)} answered ${status}${text === '' ? '.' : `: ${text}`}`,
    ...(wait === undefined ? [] : [`It says Retry-After: ${wait}.`]),
  ];
  const mayPass = status >= 500 || MAY_PASS.has(status) || (retriesAny && status !== GONE);
  const failure = mayPass ? 'retryable' : 'fatal';
  return new TaskFailure(`http_${status}`, failure, parts.join(' '), retryAfterMs(wait));
}

/** A server decides over no more than this. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/** The header has seconds or a date. */
function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), RETRY_AFTER_MS_MAX) : undefined;
}

function late({ request, timeoutMs }: HttpPlan): TaskFailure {
  return new TaskFailure(
    'timeout',
    'retryable',
    `${shown(request)} took longer than ${timeoutMs} ms.`,
  );
}

/** Whatever is not ours comes from the network. */
function failureOf(error: unknown, { request, secrets }: HttpPlan): Error {
  if (error instanceof TaskFailure) return error;
  const text = without(secrets, wordsOf(error));
  return new TaskFailure('network', 'retryable', `${shown(request)} failed: ${text}`);
}

/** Several addresses that were tried in vain are one error without a message of its own. */
function wordsOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(wordsOf).join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.message === '' ? error.name : error.message;
}
