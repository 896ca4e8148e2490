/** Which servers a client knows: those it was given, and the leader that one of them named. */
import { urlToHttpOptions } from 'node:url';
import { MillraceError } from '../../scheduler/core/index.ts';
import { redactUrl } from '../../kit/index.ts';

export class Servers {
  readonly #given: readonly [URL, ...URL[]];
  /** The first server to try; changes when one cannot be reached. */
  #first = 0;
  #leader: URL | null = null;
  #hasAnswered = false;

  constructor(list: string) {
    const [first, ...others] = list
      .split(',')
      .map((text) => text.trim())
      .filter((text) => text !== '')
      .map(serverUrl);
    if (first === undefined) throw wrongUrl(list, 'It contains no server address.');
    this.#given = [first, ...others];
  }

  get given(): readonly URL[] {
    return this.#given;
  }

  /** Has any of them ever answered? */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** The next one to ask: the leader, or a given one, that was not tried yet in this round. */
  pick(tried: ReadonlySet<string>): URL | null {
    if (this.#leader !== null && !tried.has(this.#leader.href)) return this.#leader;
    for (let step = 0; step < this.#given.length; step += 1) {
      const url = this.#given[(this.#first + step) % this.#given.length];
      if (url !== undefined && !tried.has(url.href)) return url;
    }
    return null;
  }

  answered(): void {
    this.#hasAnswered = true;
  }

  /** The leader as `from` names it. A token that was sent encrypted must not be sent on unencrypted. */
  follow(from: URL, address: string): void {
    const leader = parsedUrl(address);
    if (leader === null) return;
    if (from.protocol === 'https:' && leader.protocol !== 'https:') return;
    this.#leader = leader;
  }

  lost(url: URL): void {
    if (this.#leader?.href === url.href) this.#leader = null;
    if (this.#given[this.#first]?.href === url.href) {
      this.#first = (this.#first + 1) % this.#given.length;
    }
  }

  /** For messages. */
  toString(): string {
    return this.#given.map((url) => url.href.replace(/\/$/, '')).join(', ');
  }
}

/** The query string; a list repeats the parameter. */
export type Query = Readonly<Record<string, string | readonly string[]>>;

/** Where a call goes, as Node.js wants it. */
export type Target = ReturnType<typeof urlToHttpOptions>;

/** From calls to targets, for one client: a program that submits jobs makes the same call again and again. */
export function callTargets(): (server: URL, path: string, query?: Query) => Target {
  let last: { readonly server: URL; readonly path: string; readonly target: Target } | null = null;
  return (server, path, query) => {
    if (query !== undefined) return urlToHttpOptions(callUrl(server, path, query));
    if (last?.server === server && last.path === path) return last.target;
    const target = urlToHttpOptions(callUrl(server, path, {}));
    last = { server, path, target };
    return target;
  };
}

/** The server's URL may have a path, which is kept. */
function callUrl(server: URL, path: string, query: Query): URL {
  const url = new URL(server);
  url.pathname = `${server.pathname.replace(/\/$/, '')}${path}`;
  for (const [name, value] of Object.entries(query)) {
    for (const each of typeof value === 'string' ? [value] : value) {
      url.searchParams.append(name, each);
    }
  }
  return url;
}

function serverUrl(text: string): URL {
  // `HOST:PORT` alone means HTTP, as on the command line.
  const isBare = /^([\w.-]+|\[[0-9a-f:.]+\]):\d{1,5}$/i.test(text);
  const url = parsedUrl(isBare ? `http://${text}` : text);
  if (url === null)
    throw wrongUrl(
      text,
      'It is neither HOST:PORT nor an address that starts with http:// or https://.',
    );
  if (url.username !== '' || url.password !== '') {
    throw wrongUrl(text, 'It contains a token, which would end up in logs.');
  }
  return url;
}

function parsedUrl(text: string): URL | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  url.search = '';
  url.hash = '';
  return url;
}

function wrongUrl(text: string, why: string): MillraceError {
  return new MillraceError({
    code: 'bad_setting',
    what: `The server "${redactUrl(text)}" cannot be used.`,
    why,
    todo: 'Use the form http://127.0.0.1:7070.',
  });
}
