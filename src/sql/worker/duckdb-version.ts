/**
 * The version of DuckDB that engines run here, as `v1.5.6`; null if there is none for this platform. It is read from
 * the package, because asking DuckDB would load it into this process.
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
