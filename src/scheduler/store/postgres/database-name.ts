/** Which database it is, in words that may be shown: neither user nor password, and no parameter. */
import { MillraceError, isMillraceError } from '../../core/index.ts';

/** `database millrace at db.example:5432`; null when the URL cannot be read, as one with several hosts. */
export function databaseName(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = hostname === '' ? (searchParams.get('host') ?? 'localhost') : hostname;
  const name = decoded(pathname.slice(1));
  return name === null
    ? null
    : `database ${name === '' ? '(default)' : name} at ${host}:${port || 5432}`;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** What `use` throws of a database that cannot be reached says which one it is. */
export async function named<T>(url: string, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    throw naming(error, databaseName(url));
  }
}

/** The same for each function of a store. */
export function namingDatabase<S extends object>(store: S, url: string): S {
  const name = databaseName(url);
  const entries = Object.entries(store).map(([key, value]: [string, unknown]) => {
    if (typeof value !== 'function') return [key, value];
    const call = (...args: readonly unknown[]): unknown => {
      const answer: unknown = (value as (...args: readonly unknown[]) => unknown)(...args);
      if (!(answer instanceof Promise)) return answer;
      return answer.catch((error: unknown) => {
        throw naming(error, name);
      });
    };
    return [key, call];
  });
  return Object.fromEntries(entries) as S;
}

function naming(error: unknown, name: string | null): unknown {
  if (name === null || !isMillraceError(error, 'store_unavailable')) return error;
  const { code, what, why, todo, cause } = error;
  return new MillraceError({
    code,
    what: what.replace(/^PostgreSQL(?! \()/, `PostgreSQL (${name})`),
    cause,
    why,
    todo,
  });
}
