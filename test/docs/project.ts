/** A reader's project: a folder with Millrace in its node_modules, and the files of the pages in it. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { TestProcess } from '../rig/cluster/process.ts';
import { type Block, ROOT } from './page.ts';

/** What the guide says to install. */
const PACKAGES = ['zod', 'tsx', 'pg', '@types/pg', '@types/node', '@opentelemetry'];
const COMMANDS = { millrace: 'millrace/bin/millrace.js', tsx: 'tsx/dist/cli.mjs' };
const RUN_MS = 90_000;

export interface Said {
  readonly code: number;
  readonly lines: readonly string[];
}

export class Project {
  readonly folder: string = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-guide-')));
  /** What stands in the pages, and what a test puts in its place. */
  readonly #words: Map<string, string> = new Map();

  constructor() {
    const link = (from: string, to: string): void => {
      const path = join(this.folder, 'node_modules', to);
      mkdirSync(dirname(path), { recursive: true });
      symlinkSync(from, path);
    };
    link(ROOT, 'millrace');
    for (const name of PACKAGES) link(join(ROOT, 'node_modules', name), name);
    for (const [name, file] of Object.entries(COMMANDS)) link(`../${file}`, `.bin/${name}`);
    this.write('package.json', '{ "type": "module" }\n');
  }

  /** Wherever the word stands in a file or a command. */
  replace(word: string, by: string): void {
    this.#words.set(word, by);
  }

  write(name: string, text: string): void {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, this.#put(text));
  }

  /** `npx` finds a command where PATH finds it here. */
  run(block: Block, under: string): Promise<Said> {
    const text = this.#put(block.text).replaceAll(/\bnpx /g, '');
    const cwd = join(this.folder, under);
    mkdirSync(cwd, { recursive: true });
    return new Promise((resolve) => {
      const options = { cwd, env: this.#environment(), timeout: RUN_MS };
      execFile('bash', ['-ec', text], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : Number(error.code ?? -1);
        resolve({ code, lines: `${stdout}\n${stderr}`.split('\n') });
      });
    });
  }

  /** A line of the block each. */
  start(block: Block, under: string): readonly (() => Promise<TestProcess>)[] {
    const lines = this.#put(block.text)
      .replaceAll(/ *#.*$/gm, '')
      .trim()
      .split('\n');
    return lines.map((line) => async () => {
      const [npx, millrace, ...words] = line.split(/\s+/);
      if (`${npx} ${millrace}` !== 'npx millrace') throw new Error(`cannot start: ${line}`);
      const folder = join(this.folder, under);
      const started = TestProcess.start(words, { folder, environment: this.#defaults() });
      await started.line(/^millrace (worker )?ready /, RUN_MS);
      return started;
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #put(text: string): string {
    if (this.#words.size === 0) return text;
    // In one go: what was put in place of a word may look like another one.
    const words = new RegExp([...this.#words.keys()].map(literally).join('|'), 'g');
    return text.replaceAll(words, (word) => this.#words.get(word) ?? word);
  }

  #environment(): NodeJS.ProcessEnv {
    const path = [join(this.folder, 'node_modules/.bin'), process.env['PATH']].join(delimiter);
    return { ...process.env, ...this.#defaults(), PATH: path };
  }

  /** Where a command goes that names no port: the usual ones may be taken. */
  #defaults(): Record<string, string> {
    return {
      MILLRACE_PORT: this.#put('7070'),
      MILLRACE_GRPC_PORT: this.#put('7071'),
      MILLRACE_SERVER: this.#put('http://127.0.0.1:7070'),
    };
  }
}

function literally(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&');
}

/** The first expected line that is not said after those before it; null when all are. */
export function missingLine(expected: string, said: readonly string[]): string | null {
  let at = 0;
  for (const line of expected.trimEnd().split('\n')) {
    const parts = line.trim().split('...').map(literally);
    const pattern = new RegExp(`^\\s*${parts.join('.*')}\\s*$`);
    const found = said.findIndex((each, place) => place >= at && pattern.test(each));
    if (found < 0) return line;
    at = found + 1;
  }
  return null;
}
