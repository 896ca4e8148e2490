import { readFileSync } from 'node:fs';
import { PROTOCOL_VERSION } from './worker-service.ts';
import type { Handshake } from './worker-service.ts';

/** Two levels up from here is the package, in `src` as in `dist`. */
const manifest = new URL('../../../package.json', import.meta.url);
let known: string | null = null;

export function millraceVersion(): string {
  known ??= (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
  return known;
}

/** What this process says of itself. */
export function ownHandshake(duckdb: string | null = null): Handshake {
  return { protocol: PROTOCOL_VERSION, millrace: millraceVersion(), duckdb };
}
