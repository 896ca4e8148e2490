/** Where an answer sends the request on to, by the rules that `fetch` has. */
import { TaskFailure } from '../failure.ts';
import { isWeb } from './request.ts';
import type { HttpRequest } from './request.ts';
import { shown } from './request-text.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/**
 * The headers that another origin may see. Any other header may be a credential of the first one: many
 * services take keys in headers of their own.
 */
const FOR_ANY_ORIGIN: ReadonlySet<string> = new Set([
  ...['accept', 'accept-charset', 'accept-encoding', 'accept-language', 'user-agent'],
  ...['content-type', 'content-encoding', 'content-language', 'content-location'],
  ...['cache-control', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'],
  ...['range', 'if-range', 'idempotency-key'],
]);
const OF_BODY = ['content-type', 'content-encoding', 'content-language', 'content-location'];

export function isRedirect(status: number, location: string | undefined): location is string {
  return REDIRECTS.has(status) && location !== undefined;
}

export function redirected(request: HttpRequest, status: number, location: string): HttpRequest {
  const url = URL.canParse(location, request.url.href) ? new URL(location, request.url.href) : null;
  if (url === null || !isWeb(url)) {
    throw new TaskFailure(
      'bad_redirect',
      'fatal',
      `${shown(request)} answered ${status} with a redirect that is not an http or https URL.`,
    );
  }
  // Nobody asked for the user that a server names.
  url.username = '';
  url.password = '';
  const { method } = request;
  const becomesGet =
    (status === 303 && method !== 'GET' && method !== 'HEAD') ||
    ((status === 301 || status === 302) && method === 'POST');
  const isSameOrigin = url.origin === request.url.origin;
  const headers = Object.entries(request.headers).filter(
    ([name]) =>
      (isSameOrigin || FOR_ANY_ORIGIN.has(name)) && !(becomesGet && OF_BODY.includes(name)),
  );
  return {
    url,
    method: becomesGet ? 'GET' : method,
    body: becomesGet ? null : request.body,
    headers: Object.fromEntries(headers),
  };
}
