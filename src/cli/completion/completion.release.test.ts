import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { catalogue } from '../catalogue.ts';
import { exit } from '../exit.ts';
import { run } from '../program.ts';
import { readGrammar } from './grammar.ts';
import { SHELLS } from './scripts.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-completion-'));
const script = join(folder, 'millrace.bash');
afterAll(() => rmSync(folder, { recursive: true }));

async function millrace(...argv: readonly string[]) {
  let out = '';
  let err = '';
  const { signal } = new AbortController();
  const world = {
    out: (text: string) => (out += text),
    err: (text: string) => (err += text),
    signal,
  };
  return { code: await run(argv, world), out, err };
}

beforeAll(async () => {
  writeFileSync(script, (await millrace('completion', 'bash')).out);
  writeFileSync(join(folder, 'job.yaml'), '');
  mkdirSync(join(folder, 'jobs'));
});

/** What a real bash offers when Tab is pressed behind the last word. */
function offers(...words: readonly string[]): readonly string[] {
  const code = `
    source "$1"; shift
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _millrace
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const bash = spawnSync('bash', ['-c', code, 'bash', script, 'millrace', ...words], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(bash.stderr).toBe('');
  return bash.stdout
    .split('\n')
    .filter((line) => line !== '')
    .toSorted();
}

test('every command is offered, and help for it', () => {
  expect(offers('')).toEqual(expect.arrayContaining(catalogue.map(({ name }) => name)));
  expect(offers('sch')).toEqual(['schedules', 'schema']);
  expect(offers('help', 'sig')).toEqual(['signal']);
});

test('the options of a command are offered, but not what its help hides', () => {
  expect(offers('run', '--inp')).toEqual(['--input']);
  expect(offers('run', 'x.ts', '--s')).toEqual(['--server', '--slots']);
  expect(offers('submit', '--')).toEqual(
    expect.arrayContaining(['--wait', '--json', '--debug', '--help']),
  );
  expect(offers('submit', '--session-ttl')).toEqual([]);
});

test('the choices of options and arguments are offered', () => {
  expect(offers('serve', '--role', 'l')).toEqual(['leader']);
  expect(offers('schedules', '--overlap', '')).toEqual(['cancel', 'queue', 'skip']);
  expect(offers('schedules', 'p')).toEqual(['pause', 'put']);
  expect(offers('schedules', '--server', 'http://x', 'tri')).toEqual(['trigger']);
  expect(offers('migrate', '')).toEqual(['down', 'status', 'up']);
  expect(offers('completion', 'z')).toEqual(['zsh']);
  expect(offers('jobs', '--state', 'f')).toEqual(['failed']);
});

test('files and folders are offered where they belong', () => {
  expect(offers('run', 'jo')).toEqual(['job.yaml', 'jobs']);
  expect(offers('schedules', 'create', 'nightly', 'job.')).toEqual(['job.yaml']);
  expect(offers('up', '--module', 'job.')).toEqual(['job.yaml']);
  expect(offers('up', '--data', 'jo')).toEqual(['job.yaml', 'jobs']);
  // An id is for the user to know.
  expect(offers('job', 'jo')).toEqual([]);
});

test.each(SHELLS)(
  'the script for %s names every command and every option that help shows',
  async (shell) => {
    const { out } = await millrace('completion', shell);
    for (const { name, options } of await readGrammar()) {
      expect(out).toContain(name);
      for (const { flag } of options)
        expect(out).toContain(shell === 'fish' ? flag.slice(2) : flag);
    }
    const { script: text } = JSON.parse((await millrace('completion', shell, '--json')).out) as {
      script: string;
    };
    expect(text).toBe(out);
  },
);

test('another shell is refused with a guess', async () => {
  const { code, err } = await millrace('completion', 'bsh');
  expect(code).toBe(exit.wrongUse);
  expect(err).toContain("Did you mean 'bash'?");
});
