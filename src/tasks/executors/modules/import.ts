/** Imports a user's module, TypeScript as well, and says what is wrong with it in terms of its file. */
import { execFile } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MillraceError } from '../../../scheduler/core/index.ts';

export type Exports = Readonly<Record<string, unknown>>;

const TYPESCRIPT = /^\.[cm]?tsx?$/;

let typescript: Promise<unknown> | null = null;

export async function importedFrom(url: string): Promise<Exports> {
  const path = fileURLToPath(url);
  try {
    if (TYPESCRIPT.test(extname(path))) await readyForTypeScript();
    return (await import(url)) as Exports;
  } catch (cause) {
    throw new MillraceError({
      code: 'bad_input',
      what: `The module ${path} cannot be loaded: ${await wordsOf(cause, url)}`,
      cause,
    });
  }
}

/** Only when it is needed, and only once a thread. Whoever runs this file as TypeScript has done it. */
function readyForTypeScript(): Promise<unknown> {
  if (import.meta.url.endsWith('.ts')) return Promise.resolve();
  typescript ??= startTsx();
  return typescript;
}

/** Both halves: a file without a package.json that says otherwise is CommonJS to the engine. */
async function startTsx(): Promise<void> {
  const [cjs, esm] = await Promise.all([import('tsx/cjs/api'), import('tsx/esm/api')]);
  cjs.register();
  esm.register();
}

/** What was thrown, and where in a file, as far as the engine tells. */
async function wordsOf(cause: unknown, url: string): Promise<string> {
  if (!(cause instanceof Error)) return String(cause);
  const name = cause.name === 'Error' ? '' : `${cause.name}: `;
  const place = cause instanceof SyntaxError ? await syntaxPlace(url) : framePlace(cause.stack);
  return `${name}${cause.message}${place === null ? '' : ` (${place})`}`;
}

const FRAME = /^ +at (?:async )?(?:.*\()?((?:file:\/\/)?\/[^():?]+)(?:\?[^:]*)?(:\d+:\d+)\)?$/;

/** The first frame in a file of the user. */
function framePlace(stack: string = ''): string | null {
  for (const line of stack.split('\n')) {
    const [, file = '', position = ''] = FRAME.exec(line) ?? [];
    if (file === '' || file.includes('/node_modules/')) continue;
    return `${file.startsWith('file:') ? fileURLToPath(file) : file}${position}`;
  }
  return null;
}

const CHECK_MS = 10_000;

/**
 * The engine keeps the place of a syntax error to itself until a process ends by it. So another one is asked
 * to read the module and all that it imports; it ends before it would run any of them.
 */
async function syntaxPlace(url: string): Promise<string | null> {
  const code = `import 'data:text/javascript,process.exit()'; import ${JSON.stringify(url)};`;
  const args = ['--input-type=module', '--eval', code];
  const stderr = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { timeout: CHECK_MS }, (_error, _stdout, text) =>
      resolve(text),
    );
  });
  const [, file, line] = /^(file:\/\/\S+?):(\d+)$/m.exec(stderr) ?? [];
  return file === undefined ? null : `${fileURLToPath(file)}:${line}`;
}
