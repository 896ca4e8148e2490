/**
 * The version of DuckDB that engines here run, as `v1.5.6`; null where there is none for this machine. It is
 * read from the package and not asked of DuckDB, which would have to be loaded into this process for it.
 */
import { createRequire } from 'node:module';

export function duckdbVersion(
  machine: string = `${process.platform}-${process.arch}`,
): string | null {
  try {
    const own = createRequire(import.meta.url);
    const api = createRequire(own.resolve('@duckdb/node-api'));
    const bindings = createRequire(api.resolve('@duckdb/node-bindings'));
    const isThere = ['', '-musl'].some((kind) => has(bindings, `${machine}${kind}`));
    const { version } = own('@duckdb/node-api/package.json') as { readonly version: string };
    return isThere ? `v${version.split('-', 1)[0]}` : null;
  } catch {
    return null;
  }
}

function has(bindings: NodeJS.Require, machine: string): boolean {
  try {
    bindings.resolve(`@duckdb/node-bindings-${machine}/duckdb.node`);
    return true;
  } catch {
    return false;
  }
}
