/** Where the page is: the part of the address after `#`, so that every address works behind any prefix. */
import { signal } from '@preact/signals';

export interface Route {
  /** `['jobs', 'ID']` for `#/jobs/ID`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export const route = signal<Route>(readRoute());

function readRoute(): Route {
  const [path = '', ...rest] = location.hash.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').filter(Boolean).map(decoded);
  return {
    path: parts.length === 0 ? ['jobs'] : parts,
    query: new URLSearchParams(rest.join('?')),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function link(
  path: readonly string[],
  query: Readonly<Record<string, string>> = {},
): string {
  const search = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== ''),
  ).toString();
  const place = path.map((part) => encodeURIComponent(part)).join('/');
  return `#/${place}${search === '' ? '' : `?${search}`}`;
}

export function go(address: string): void {
  location.hash = address;
}

/** Changes the address without a new entry in the history: for filters and tabs. */
export function replaceQuery(query: Readonly<Record<string, string>>): void {
  history.replaceState(null, '', link(route.peek().path, query));
  route.value = readRoute();
}

export function watchRoute(): void {
  window.addEventListener('hashchange', () => {
    route.value = readRoute();
    window.scrollTo(0, 0);
  });
}
