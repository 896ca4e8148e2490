/** The tables that a query can name, with the columns of those that it does name: for completion in the editor. */
import { signal } from '@preact/signals';
import { call, post } from '../../api/call.ts';
import { may } from '../../api/cluster-status.ts';
import type { Draft } from './draft.ts';
import { givenTables, mentionedIn } from './table-names.ts';

export type KnownTables = Readonly<Record<string, readonly string[]>>;

/** Tables whose columns are asked for, for one text. */
const DESCRIBED_MAX = 12;
const TYPING_MS = 600;

export const knownTables = signal<KnownTables>({});

let catalog: readonly string[] = [];
/** By name and place. A table without columns could not be described; it is asked for again when its place changes. */
const columnsOf = new Map<string, Promise<readonly string[]>>();
let timer = 0;

/** Completion is a convenience: without an answer there are only names. */
export async function loadCatalog(draft: Draft): Promise<void> {
  if (!may('submit')) return;
  try {
    const { tables } = await call<{ tables: readonly { readonly name: string }[] }>('tables');
    catalog = tables.map(({ name }) => name);
  } catch {
    catalog = [];
  }
  await describe(draft);
}

/** After a while in which nothing is typed. */
export function describeSoon(draft: Draft): void {
  window.clearTimeout(timer);
  timer = window.setTimeout(() => void describe(draft), TYPING_MS);
}

async function describe({ sql, tables }: Draft): Promise<void> {
  const given = givenTables(tables);
  const names = [...new Set([...Object.keys(given), ...catalog])];
  const wanted = new Set(may('submit') ? mentionedIn(sql, names).slice(0, DESCRIBED_MAX) : []);
  const entries = await Promise.all(
    names.map(async (name) => {
      const columns = wanted.has(name) ? await described(name, given[name]) : [];
      return [name, columns] as const;
    }),
  );
  knownTables.value = Object.fromEntries(entries);
}

function described(name: string, place: string | undefined): Promise<readonly string[]> {
  const key = JSON.stringify([name, place]);
  const known = columnsOf.get(key) ?? askColumns(name, place);
  columnsOf.set(key, known);
  return known;
}

/** Planning `select *` tells the columns without running anything. */
async function askColumns(name: string, place: string | undefined): Promise<readonly string[]> {
  try {
    const { plan } = await post<{
      plan: { readonly columns?: readonly { readonly name: string }[] };
    }>('queries/explain', {
      sql: `select * from "${name.replaceAll('"', '""')}"`,
      ...(place === undefined ? {} : { tables: { [name]: place } }),
    });
    return (plan.columns ?? []).map((column) => column.name);
  } catch {
    return [];
  }
}
