import { readFileSync } from 'node:fs';

/** Two levels up from here is the package, in `src` as in `dist`. */
const manifest = new URL('../../package.json', import.meta.url);

export function version(): string {
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
