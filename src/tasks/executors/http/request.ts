/** What the `http` executor is asked to send. */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Json } from '../../../scheduler/core/index.ts';
import { Fields, textOrJson } from '../fields.ts';

export interface HttpRequest {
  /** Without user and password: those are in the headers. */
  readonly url: URL;
  readonly method: string;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | null;
}

export interface HttpPlan {
  readonly request: HttpRequest;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly redirectsMax: number;
  /** Whether every status but 2xx and 410 may pass. */
  readonly retriesAny: boolean;
  /** Text that must not appear in a message, even if a server repeats it. */
  readonly secrets: readonly string[];
}

const TIMEOUT_MS = 60_000;
const TIMEOUT_MS_MAX = 86_400_000;
const MIB = 2 ** 20;
const MAX_BYTES = 4 * MIB;
/** More than this no result can hold. */
const MAX_BYTES_MAX = 16 * MIB;
const REDIRECTS = 10;
const REDIRECTS_MAX = 20;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** They belong to the connection, or say where the request goes. */
const NOT_YOURS =
  /^(host|connection|content-length|transfer-encoding|upgrade|expect|te|trailer|keep-alive|proxy-.*)$/;

/** Shorter ones would blot out half of any text. */
const SECRET_LENGTH_MIN = 6;

export function readPlan(
  input: Json,
  idempotencyKey: string,
  traceHeaders: Readonly<Record<string, string>> = {},
): HttpPlan {
  const fields = new Fields(input, [
    ...[
      'url',
      'method',
      'headers',
      'body',
      'auth',
      'timeoutMs',
      'maxBytes',
      'redirects',
      'retryOn',
    ],
  ]);
  const url = readUrl(fields);
  const body = textOrJson(fields.value('body'));
  const method = readMethod(fields, body);
  const headers = readHeaders(fields);
  const given = Object.values(headers).flat();
  const authorization = readAuth(fields, url);
  if (authorization !== null) {
    if ('authorization' in headers) {
      fields.refuse(
        'auth',
        'The authorization is given twice: in auth, in the URL or in a header.',
      );
    }
    headers['authorization'] = authorization.header;
  }
  url.username = '';
  url.password = '';
  if (typeof fields.value('body') !== 'string' && body !== null) {
    headers['content-type'] ??= 'application/json';
  }
  headers['accept'] ??= '*/*';
  headers['accept-encoding'] ??= 'gzip, deflate, br';
  headers['user-agent'] ??= 'millrace';
  headers['idempotency-key'] ??= idempotencyKey;
  // Both or neither: a state belongs to its parent.
  if (!('traceparent' in headers)) Object.assign(headers, traceHeaders);
  return {
    request: { url, method, headers, body },
    timeoutMs: fields.whole('timeoutMs', 1, TIMEOUT_MS_MAX) ?? TIMEOUT_MS,
    maxBytes: fields.whole('maxBytes', 0, MAX_BYTES_MAX) ?? MAX_BYTES,
    retriesAny: readRetryOn(fields),
    redirectsMax: fields.whole('redirects', 0, REDIRECTS_MAX) ?? REDIRECTS,
    secrets: [...given, ...(authorization?.secrets ?? [])].filter(
      (text) => text.length >= SECRET_LENGTH_MIN,
    ),
  };
}

function readUrl(fields: Fields): URL {
  const text = fields.required('url');
  // The text itself is not repeated: it may hold a password.
  if (!URL.canParse(text)) fields.refuse('url', 'Not a valid URL.', 'Use https://HOST/PATH.');
  const url = new URL(text);
  if (!isWeb(url)) fields.refuse('url', 'Only http and https are supported.');
  return url;
}

export function isWeb({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:';
}

function readRetryOn(fields: Fields): boolean {
  const value = fields.text('retryOn');
  if (value === undefined || value === 'any') return value === 'any';
  return fields.refuse('retryOn', "Must be 'any'.", 'Omit it for the usual statuses.');
}

/** Whoever sends a body and names no method means POST, as other tools have it. */
function readMethod(fields: Fields, body: string | null): string {
  const method = fields.text('method')?.toUpperCase() ?? (body === null ? 'GET' : 'POST');
  if (!METHODS.includes(method)) {
    fields.refuse('method', 'Not a supported method.', `There are: ${METHODS.join(', ')}.`);
  }
  if (body !== null && (method === 'GET' || method === 'HEAD')) {
    fields.refuse('body', `${method} cannot have a body.`);
  }
  return method;
}

function readHeaders(fields: Fields): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, value] of fields.entries('headers')) {
    const key = name.toLowerCase();
    if (value === null) continue;
    if (NOT_YOURS.test(key))
      fields.refuse(`headers/${name}`, 'This header cannot be set by a task.');
    if (Object.hasOwn(headers, key))
      fields.refuse(`headers/${name}`, 'This header is given twice.');
    headers[key] = readHeader(fields, name, value);
  }
  return headers;
}

function readHeader(fields: Fields, name: string, value: Json): string | readonly string[] {
  const texts = (Array.isArray(value) ? (value as readonly Json[]) : [value]).map((each) => {
    if (typeof each === 'string') return each;
    if (typeof each === 'number') return String(each);
    return fields.refuse(`headers/${name}`, 'Must be text or a list of texts.');
  });
  try {
    validateHeaderName(name);
    for (const text of texts) validateHeaderValue(name, text);
  } catch {
    fields.refuse(`headers/${name}`, 'Contains a character that is not allowed in a header.');
  }
  return Array.isArray(value) ? texts : (texts[0] ?? '');
}

interface Authorization {
  readonly header: string;
  readonly secrets: readonly string[];
}

function readAuth(fields: Fields, url: URL): Authorization | null {
  const auth = fields.within('auth', ['bearer', 'basic']);
  const inUrl = url.username === '' && url.password === '' ? null : userOf(fields, url);
  if (auth === undefined) return inUrl;
  if (inUrl !== null) fields.refuse('auth', 'The URL contains a user as well.');
  const bearer = auth.text('bearer');
  const basic = auth.within('basic', ['user', 'password']);
  if ((bearer === undefined) === (basic === undefined)) {
    fields.refuse('auth', 'Must have either bearer or basic.');
  }
  if (basic !== undefined) return basicOf(basic.required('user'), basic.text('password') ?? '');
  const token = bearer ?? '';
  if (!/^[\x21-\x7e]+$/.test(token)) auth.refuse('bearer', 'A token must be ASCII without spaces.');
  return { header: `Bearer ${token}`, secrets: [token] };
}

function userOf(fields: Fields, { username, password }: URL): Authorization {
  try {
    return basicOf(decodeURIComponent(username), decodeURIComponent(password));
  } catch {
    return fields.refuse('url', 'Its user or password is not properly percent-encoded.');
  }
}

function basicOf(user: string, password: string): Authorization {
  const code = Buffer.from(`${user}:${password}`).toString('base64');
  return { header: `Basic ${code}`, secrets: [code, password] };
}
