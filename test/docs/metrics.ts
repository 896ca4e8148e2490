/** The metrics that the guide names. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './page.ts';

/** In its tables; prose may name them again. */
export function documentedMetrics(): ReadonlySet<string> {
  const text = readFileSync(join(ROOT, 'docs/guide/operations.md'), 'utf8');
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  const names = rows.flatMap((row) => [
    ...row.split(' | ')[0]!.matchAll(/`((?:millrace|nodejs|process)_\w+)`/g),
  ]);
  return new Set(names.map(([, name = '']) => name));
}
