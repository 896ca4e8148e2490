/** From a method and a path to a route, or to the reason why there is none. */
import { didYouMean, isStorableText } from '../../scheduler/core/index.ts';
import { HttpRefusal, badInput, notFound } from './refusal.ts';
import type { Call, Parameter, Route } from './route.ts';

export interface Found {
  readonly route: Route;
  readonly path: Readonly<Record<string, string>>;
}

export class Router {
  readonly #routes: readonly { readonly route: Route; readonly segments: readonly string[] }[];
  /** By method and path: routes whose path is always the same, the busy ones among them. */
  readonly #fixed: ReadonlyMap<string, Found>;

  constructor(routes: readonly Route[]) {
    this.#routes = routes.map((route) => ({ route, segments: route.path.split('/') }));
    const fixed = routes.filter(({ path }) => !path.includes(':'));
    this.#fixed = new Map(
      fixed.map(({ method, path }) => [`${method} ${path}`, this.#search(method, path)]),
    );
  }

  /** `pathname` as it came, still encoded. */
  find(method: string, pathname: string): Found {
    return this.#fixed.get(`${method} ${pathname}`) ?? this.#search(method, pathname);
  }

  #search(method: string, pathname: string): Found {
    const parts = pathname.split('/').map(decodedSegment);
    const fitting = this.#routes.flatMap(({ route, segments }) => {
      const path = matched(segments, parts);
      return path === null ? [] : [{ route, path }];
    });
    // What can be read can be asked for without its body.
    const wanted = method === 'HEAD' ? 'GET' : method;
    const found = fitting.find(({ route }) => route.method === wanted);
    if (found !== undefined) return found;
    if (fitting.length === 0) {
      throw notFound('No route matches this path.', 'GET /openapi.json lists all routes.');
    }
    const methods = fitting.map(({ route }) => route.method);
    const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', ');
    throw new HttpRefusal(
      'method_not_allowed',
      {
        what: `Method ${method.slice(0, 20)} is not allowed for this path.`,
        todo: `Use ${allow}.`,
      },
      { allow },
    );
  }
}

function matched(
  segments: readonly string[],
  parts: readonly string[],
): Record<string, string> | null {
  if (segments.length !== parts.length) return null;
  const path: Record<string, string> = {};
  for (const [at, segment] of segments.entries()) {
    const part = parts[at] ?? '';
    if (!segment.startsWith(':')) {
      if (segment !== part) return null;
    } else if (part === '') return null;
    else path[segment.slice(1)] = part;
  }
  return path;
}

function decodedSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw badInput('', 'The path contains an invalid percent-encoding.');
  }
}

/** Each parameter at most once unless its route says otherwise, none that is not known, each as its route describes
 * it. */
export function readQuery(
  route: Pick<Route, 'parameters'>,
  search: string,
): Pick<Call, 'query' | 'lists'> {
  const known = route.parameters ?? {};
  const query: Record<string, string> = {};
  const lists: Record<string, string[]> = {};
  for (const [name, value] of decodedPairs(search)) {
    const parameter = Object.hasOwn(known, name) ? known[name] : undefined;
    if (parameter === undefined) throw unknown(name, Object.keys(known));
    const fault = faultIn(parameter, value);
    if (fault !== null) throw badInput(`?${name}`, fault);
    if (parameter.type === 'string' && parameter.isRepeatable === true) {
      (lists[name] ??= []).push(value);
      continue;
    }
    if (Object.hasOwn(query, name)) throw badInput(`?${name}`, 'It is given more than once.');
    query[name] = value;
  }
  return { query, lists };
}

function decodedPairs(search: string): URLSearchParams {
  try {
    decodeURIComponent(search);
    return new URLSearchParams(search);
  } catch {
    throw badInput('?', 'The query string contains an invalid percent-encoding.');
  }
}

function faultIn(parameter: Parameter, value: string): string | null {
  switch (parameter.type) {
    case 'string':
      // No store holds such text, nor looks for it.
      if (!isStorableText(value)) return 'It contains NUL.';
      return value.length <= parameter.maxLength
        ? null
        : `It has more than ${parameter.maxLength} characters.`;
    case 'integer': {
      const { minimum, maximum } = parameter;
      const isIn = /^\d{1,16}$/.test(value) && Number(value) >= minimum && Number(value) <= maximum;
      return isIn ? null : `It must be a whole number from ${minimum} to ${maximum}.`;
    }
    case 'enum':
      return parameter.values.includes(value)
        ? null
        : `It must be one of ${parameter.values.join(', ')}.`;
  }
}

function unknown(name: string, known: readonly string[]): Error {
  const what = `Unknown parameter.${didYouMean(name, known)}`;
  const todo = `Known here: ${known.length === 0 ? 'none' : known.join(', ')}.`;
  return badInput(`?${name.slice(0, 80)}`, what, todo);
}
