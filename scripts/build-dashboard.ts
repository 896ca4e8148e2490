/**
 * The page that every node serves. Names of files are stable: behind one address there may be nodes of two versions, and
 * the page of one must find the files of the other. Heavy parts are files of their own. `graph-layout` and `sql-editor`
 * share no code with the rest; `more-views` imports what it shares from `main.js`, by names that do not change.
 */
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { build, type BuildOptions, type Metafile, type Plugin } from 'esbuild';

const SOURCE = 'dashboard';
const OUTPUT = join('dist', 'dashboard');

const OPTIONS = {
  outdir: OUTPUT,
  bundle: true,
  minify: true,
  platform: 'browser',
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  metafile: true,
} satisfies BuildOptions;

/** The modules that `shared.ts` names: files by their path, packages by their name. */
function sharedModules(): ReadonlySet<string> {
  const text = readFileSync(join(SOURCE, 'shared.ts'), 'utf8');
  const names = [...text.matchAll(/ from '([^']+)'/g)].map(([, name = '']) => name);
  return new Set(names.map((name) => (name.startsWith('.') ? resolve(SOURCE, name) : name)));
}

const fromThePage: Plugin = {
  name: 'from-the-page',
  setup(building) {
    const shared = sharedModules();
    building.onResolve({ filter: /./ }, ({ path, importer }) => {
      const module = path.startsWith('.') ? resolve(dirname(importer), path) : path;
      return shared.has(module) ? { path: './main.js', external: true } : undefined;
    });
  },
};

const modulesIn = ({ outputs }: Metafile): readonly string[] =>
  Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) =>
      bytesInOutput > 0 ? [path] : [],
    ),
  );

rmSync(OUTPUT, { recursive: true, force: true });
mkdirSync(OUTPUT, { recursive: true });
const entry = (name: string): string => join(SOURCE, name);
const [page, more] = await Promise.all([
  build({ ...OPTIONS, entryPoints: [entry('main.tsx')] }),
  build({ ...OPTIONS, entryPoints: [entry('more-views.ts')], plugins: [fromThePage] }),
  build({ ...OPTIONS, entryPoints: [entry('graph-layout.ts'), entry('sql-editor.ts')] }),
]);
const inPage = new Set(modulesIn(page.metafile));
const twice = modulesIn(more.metafile).filter((path) => inPage.has(path));
// A second copy of a module has state of its own.
if (twice.length > 0) throw new Error(`In main.js and more-views.js: ${twice.join(', ')}`);
const offered = new Set(
  Object.values(page.metafile.outputs).flatMap(
    (each: { readonly exports: string[] }) => each.exports,
  ),
);
const text = readFileSync(join(OUTPUT, 'more-views.js'), 'utf8');
const wanted = [...text.matchAll(/import\s*\{([^}]*)\}\s*from\s*"\.\/main\.js"/g)].flatMap(
  ([, names = '']) => names.split(',').map((name) => name.trim().split(/\s+as\s+/)[0] ?? ''),
);
const missing = wanted.filter((name) => !offered.has(name));
if (missing.length > 0) throw new Error(`Not in dashboard/shared.ts: ${missing.join(', ')}`);
for (const name of ['index.html', 'icon.svg']) cpSync(entry(name), join(OUTPUT, name));
