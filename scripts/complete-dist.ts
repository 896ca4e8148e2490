/**
 * What the compiler does not do to `dist`. It leaves `.sql` files where they are, and modules read them from beside
 * themselves; old copies go first, because a migration that was renamed must not run twice. And it leaves what it made of
 * sources that are gone, which would be packed with the rest. `build.json` says which commit it was built from.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
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

/** Null outside of a clone. A tree with changes is marked: the commit alone would not give the same build. */
function commit(): string | null {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const isChanged = git('status', '--porcelain', '--untracked-files=no') !== '';
    return `${git('rev-parse', '--short=12', 'HEAD')}${isChanged ? '-dirty' : ''}`;
  } catch {
    return null;
  }
}

writeFileSync(join('dist', 'build.json'), `${JSON.stringify({ commit: commit() })}\n`);
