/** Calls of the HTTP API. Addresses are relative, so the page works behind a proxy with a prefix. */
import { signal } from '@preact/signals';
import { parseExactly } from './exact-json.ts';
import { type Problem, isAbort, problemFrom, unreachable } from './problem.ts';

const TOKEN_KEY = 'millrace.token';

/** Kept for this tab only, and never put into an address. */
export const token = signal<string | null>(sessionStorage.getItem(TOKEN_KEY));
/** Why the server wants a token; null while it does not. */
export const signInNeeded = signal<Problem | null>(null);
/** Milliseconds that the server's clock is ahead of this one. */
export const clockAheadMs = signal(0);

export function signIn(text: string): void {
  sessionStorage.setItem(TOKEN_KEY, text);
  token.value = text;
  signInNeeded.value = null;
}

export function signOut(): void {
  sessionStorage.removeItem(TOKEN_KEY);
  token.value = null;
}

export interface CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export const api = (path: string): string => `api/v1/${path}`;

/** The response, if its status is a success; throws a `Problem` otherwise. */
export async function request(address: string, options: CallOptions = {}): Promise<Response> {
  const { method = 'GET', body, signal: aborts } = options;
  const headers: Record<string, string> = { ...options.headers };
  const used = token.value;
  if (used !== null) headers['authorization'] = `Bearer ${used}`;
  if (body !== undefined) headers['content-type'] = 'application/json';
  const response = await fetch(address, {
    method,
    headers,
    cache: 'no-store',
    redirect: 'error',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(aborts === undefined ? {} : { signal: aborts }),
  }).catch((error: unknown) => {
    throw isAbort(error) ? error : unreachable();
  });
  noteClock(response);
  if (response.ok) return response;
  const problem = await problemFrom(response);
  // A refusal of the token before says nothing of the one that has been entered since.
  if (problem.status === 401 && used === token.value) signInNeeded.value = problem;
  throw problem;
}

export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  const response = await request(api(path), options);
  return (response.status === 204 ? null : parseExactly(await response.text())) as T;
}

export const post = <T>(path: string, body?: unknown, headers = {}): Promise<T> =>
  call<T>(path, { method: 'POST', body, headers });

/** Times come from the server; "3 s ago" must not depend on a wrong clock here. The header has whole seconds. */
function noteClock(response: Response): void {
  const at = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(at)) return;
  const ahead = at + 500 - Date.now();
  clockAheadMs.value = Math.abs(ahead) < 1_500 ? 0 : ahead;
}
