/**
 * The page that every node serves. Names of files are stable: behind one address there may be nodes of two versions, and
 * the page of one must find the files of the other. Heavy parts are files of their own that share no code with the rest,
 * so that the compiler makes no further pieces with changing names.
 */
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';

const SOURCE = 'dashboard';
const OUTPUT = join('dist', 'dashboard');

rmSync(OUTPUT, { recursive: true, force: true });
mkdirSync(OUTPUT, { recursive: true });
buildSync({
  entryPoints: [
    join(SOURCE, 'main.tsx'),
    join(SOURCE, 'graph-layout.ts'),
    join(SOURCE, 'sql-editor.ts'),
  ],
  outdir: OUTPUT,
  bundle: true,
  minify: true,
  platform: 'browser',
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
});
for (const name of ['index.html', 'icon.svg']) cpSync(join(SOURCE, name), join(OUTPUT, name));
