/** The query that is being written: kept while the tab is open. */
import { effect, signal } from '@preact/signals';

export interface Draft {
  readonly sql: string;
  /** Lines of `name = path`. */
  readonly tables: string;
  /** JSON: a list, or an object for parameters with names. */
  readonly params: string;
}

const KEY = 'millrace.query';

export const draft = signal<Draft>(stored());

function stored(): Draft {
  const empty = { sql: '', tables: '', params: '' };
  try {
    return { ...empty, ...(JSON.parse(sessionStorage.getItem(KEY) ?? '{}') as Partial<Draft>) };
  } catch {
    return empty;
  }
}

effect(() => sessionStorage.setItem(KEY, JSON.stringify(draft.value)));

export type Request =
  | { readonly ok: true; readonly body: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly why: string };

/** What is sent, or why it cannot be. */
export function requestOf({ sql, tables, params }: Draft): Request {
  if (sql.trim() === '') return { ok: false, why: 'Write a query first.' };
  const named: Record<string, string> = {};
  for (const line of tables.split('\n').filter((each) => each.trim() !== '')) {
    const [, name, path] = /^\s*([^=\s]+)\s*=\s*(.+?)\s*$/.exec(line) ?? [];
    if (name === undefined || path === undefined)
      return { ok: false, why: `'${line.trim()}' is not a table. Write name = path.` };
    named[name] = path;
  }
  const body: Record<string, unknown> = { sql };
  if (Object.keys(named).length > 0) body['tables'] = named;
  if (params.trim() === '') return { ok: true, body };
  try {
    return { ok: true, body: { ...body, params: JSON.parse(params) as unknown } };
  } catch {
    return {
      ok: false,
      why: 'The parameters are not JSON. Write [1, "a"] for $1 and $2, or {"name": 1}.',
    };
  }
}
