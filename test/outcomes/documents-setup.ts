/** Jobs that cannot be, or that nobody can run: reported on the command line, by files and by a server. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownFolder } from './single-node.ts';

export function file(name: string, text: string): string {
  const path = join(ownFolder(), name);
  writeFileSync(path, text);
  return path;
}

export function echo(id: string, after: string): object {
  return { id, executor: 'echo', dependsOn: [after] };
}
