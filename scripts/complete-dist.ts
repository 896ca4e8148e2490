/**
 * What the compiler does not do to `dist`. It leaves `.sql` files where they are, and modules read them from beside
 * themselves; old copies go first, because a migration that was renamed must not run twice. And it leaves what it made of
 * sources that are gone, which would be packed with the rest.
 */
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const COMPILED = /\.(js|d\.ts)(\.map)?$/;

const filesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => ending.test(name));

for (const name of filesIn('dist', /\.sql$/)) rmSync(join('dist', name));
for (const name of filesIn('src', /\.sql$/)) cpSync(join('src', name), join('dist', name));
for (const name of filesIn('dist', COMPILED)) {
  const isBundled = /^(rig|dashboard)\b/.test(name);
  const source = join('src', name.replace(COMPILED, '.ts'));
  if (!isBundled && !existsSync(source)) rmSync(join('dist', name));
}
