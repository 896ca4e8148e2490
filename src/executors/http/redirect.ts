/** Where an answer sends the request on to, by the rules that `fetch` has. */
import { TaskFailure } from '../failure.ts';
import { isWeb } from './request.ts';
import type { HttpRequest } from './request.ts';
import { shown } from './shown.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** For the host they were meant for, and no other. */
const CREDENTIALS = ['authorization', 'cookie'];
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
      `${shown(request)} answered ${status} and sends on to what is no http or https URL.`,
    );
  }
  // Nobody asked for the user that a server names.
  url.username = '';
  url.password = '';
  const { method } = request;
  const becomesGet =
    (status === 303 && method !== 'GET' && method !== 'HEAD') ||
    ((status === 301 || status === 302) && method === 'POST');
  const dropped = [
    ...(becomesGet ? OF_BODY : []),
    ...(url.origin === request.url.origin ? [] : CREDENTIALS),
  ];
  const headers = Object.entries(request.headers).filter(([name]) => !dropped.includes(name));
  return {
    url,
    method: becomesGet ? 'GET' : method,
    body: becomesGet ? null : request.body,
    headers: Object.fromEntries(headers),
  };
}
