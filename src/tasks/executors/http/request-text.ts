/** How a request is named in messages: without its query, which may hold a key. */
import type { HttpRequest } from './request.ts';

export function shown({ method, url }: Pick<HttpRequest, 'method' | 'url'>): string {
  return `${method} ${url.origin}${url.pathname}${url.search === '' ? '' : '?...'}`;
}

export function without(secrets: readonly string[], text: string): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}
