/**
 * The compiler leaves `.sql` files where they are, and modules read them from beside themselves, so
 * `dist` needs them too. Old copies go first: a migration that was renamed must not run twice.
 */
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const sqlFilesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.sql'),
  );

for (const name of sqlFilesIn('dist')) rmSync(join('dist', name));
for (const name of sqlFilesIn('src')) cpSync(join('src', name), join('dist', name));
