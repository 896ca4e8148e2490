/**
 * Signatures of webhooks, as the Standard Webhooks specification has them (https://www.standardwebhooks.com): its libraries
 * in other languages verify them too. Signed is `ID.TIMESTAMP.BODY` with HMAC-SHA256.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { MillraceError } from '../core/index.ts';
import type { Json, WebhookInput, WebhookJob } from '../core/index.ts';

/** What a receiver gets. */
export interface WebhookEvent {
  readonly type: WebhookInput['type'];
  /** When the job ended. */
  readonly timestamp: string;
  readonly data: {
    readonly job: WebhookJob;
    /** Null unless it has succeeded. */
    readonly result: Json;
    /** There is a result, but it is too large for a webhook, or the job has run again or was removed since. */
    readonly isResultOmitted?: true;
  };
}

export interface WebhookHeaders {
  /** The same for every attempt: a receiver that has seen it can ignore the rest. */
  readonly 'webhook-id': string;
  /** Seconds since 1970 at which it was signed. */
  readonly 'webhook-timestamp': string;
  /** `v1,BASE64`, one for each secret, separated by spaces. */
  readonly 'webhook-signature': string;
}

export interface SignedParts {
  readonly id: string;
  readonly atMs: number;
  readonly body: string;
}

const VERSION = 'v1';
const PREFIX = 'whsec_';
const TOLERANCE_MS = 5 * 60_000;
/** More signatures than this are an attack. */
const SIGNATURES_MAX = 16;

/** `secrets` has the current one, and while it is being replaced the next one. */
export function signWebhook(
  secrets: readonly string[],
  { id, atMs, body }: SignedParts,
): WebhookHeaders {
  const timestamp = String(Math.floor(atMs / 1_000));
  const signatures = secrets.map(
    (secret) => `${VERSION},${signature(secret, id, timestamp, body)}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

/** The headers of a request: those of Node.js, of `fetch`, or a plain object with names in lower case. */
export type ReceivedHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface WebhookRequest {
  readonly headers: ReceivedHeaders;
  /** As it came: JSON that was parsed and written again is another text. */
  readonly body: string | Uint8Array;
}

export interface VerifyOptions {
  /** How far the time of the signature may be from now, in both directions; five minutes without it. */
  readonly toleranceMs?: number;
  /** Milliseconds since 1970; the present without it. */
  readonly nowMs?: number;
}

/**
 * Returns the event if it was signed with this secret, or one of these, a short while ago. Throws `unauthenticated` if not.
 * An attempt that is repeated has the same `webhook-id`, so remember that and ignore what you have seen.
 */
export function verifyWebhook(
  secret: string | readonly string[],
  { headers, body }: WebhookRequest,
  { toleranceMs = TOLERANCE_MS, nowMs = Date.now() }: VerifyOptions = {},
): WebhookEvent {
  const secrets = typeof secret === 'string' ? [secret] : secret;
  if (secrets.length === 0 || secrets.some((each) => each === ''))
    throw new MillraceError({ code: 'bad_input', what: 'There is no secret to verify with.' });
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  if (!/^\d{1,12}$/.test(timestamp)) throw refused('webhook-timestamp is not a time');
  const given = headerOf(headers, 'webhook-signature').split(' ').slice(0, SIGNATURES_MAX);
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  const isSigned = secrets.some((each) => {
    const expected = `${VERSION},${signature(each, id, timestamp, text)}`;
    return given.some((one) => isEqual(one, expected));
  });
  if (!isSigned) throw refused('no signature fits the secret, the id, the time and the body');
  // After the signature: an unauthenticated sender learns nothing about this clock.
  if (Math.abs(nowMs - Number(timestamp) * 1_000) > toleranceMs)
    throw refused('it was signed too long ago, or the clocks differ');
  return JSON.parse(text) as WebhookEvent;
}

/** A secret of the specification is base64 behind a prefix; any other text is taken as it is. */
function keyOf(secret: string): Buffer {
  return secret.startsWith(PREFIX)
    ? Buffer.from(secret.slice(PREFIX.length), 'base64')
    : Buffer.from(secret, 'utf8');
}

function signature(secret: string, id: string, timestamp: string, body: string): string {
  return createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64');
}

/** Takes as long for a wrong one as for the right one; everybody knows the length. */
function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one, 'utf8'), Buffer.from(other, 'utf8')];
  return a.length === b.length && timingSafeEqual(a, b);
}

function headerOf(headers: ReceivedHeaders, name: keyof WebhookHeaders): string {
  const value = isGetter(headers) ? headers.get(name) : headers[name];
  if (typeof value === 'string' && value !== '') return value;
  throw refused(`the header ${name} is missing, or there are several`);
}

function isGetter(headers: ReceivedHeaders): headers is { get(name: string): string | null } {
  return typeof headers['get'] === 'function';
}

function refused(why: string): MillraceError {
  return new MillraceError({
    code: 'unauthenticated',
    what: `The webhook cannot be verified: ${why}.`,
    todo: 'Answer it with 401 and do nothing else.',
  });
}
