import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CommanderError } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { expect, onTestFinished, test, vi } from 'vitest';
import { MillraceError } from '../scheduler/core/index.ts';
import { catalogue } from './catalogue.ts';
import { command as demo } from './commands/demo.ts';
import { exit, exitCodeOf } from './exit.ts';
import { run } from './program.ts';
import { versionLine } from './version-line.ts';

async function millrace(line: string, signal: AbortSignal = new AbortController().signal) {
  let out = '';
  let err = '';
  const code = await run(line.split(' ').filter(Boolean), {
    out: (text) => (out += text),
    err: (text) => (err += text),
    signal,
  });
  return { code, out, err };
}

test('--version and --help answer on stdout and succeed', async () => {
  expect(await millrace('--version')).toEqual({
    code: exit.done,
    out: `${manifest.version}\n`,
    err: '',
  });
  const help = await millrace('--help');
  expect(help.code).toBe(exit.done);
  for (const { name, summary } of catalogue) {
    expect(help.out).toContain(name);
    expect(help.out.replaceAll(/\s+/g, ' ')).toContain(summary);
  }
});

test('the version names the commit that it was built from, if it is known', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-version-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const build = pathToFileURL(join(folder, 'build.json'));
  expect(versionLine(build)).toBe(manifest.version);
  writeFileSync(build, '{"commit": "abc123"}');
  expect(versionLine(build)).toBe(`${manifest.version} (commit abc123)`);
});

test.each(catalogue.map(({ name }) => name))(
  '%s --help shows --json and an example',
  async (name) => {
    const { code, out } = await millrace(`${name} --help`);
    expect(code).toBe(exit.done);
    expect(out).toContain('--json');
    expect(out).toContain(`$ millrace ${name}`);
    expect(await millrace(`help ${name}`)).toMatchObject({ code: exit.done, out });
  },
);

test.each(['', 'dmo', 'demo --nope', 'demo surplus'])(
  '"millrace %s" is wrong use',
  async (line) => {
    const { code, out, err } = await millrace(line);
    expect(code).toBe(exit.wrongUse);
    expect(out).toBe('');
    expect(err).toContain('--help');
  },
);

test('with --json stdout is for machines and stderr for people', async () => {
  vi.spyOn(demo, 'run').mockImplementation((_command, reply) => {
    reply.say('for people');
    reply.answer({ for: 'machines' });
    return Promise.resolve(exit.done);
  });
  const machine = await millrace('demo --json');
  expect(machine).toEqual({ code: exit.done, out: '{"for":"machines"}\n', err: 'for people\n' });
  const person = await millrace('demo');
  expect(person).toEqual({ code: exit.done, out: 'for people\n', err: '' });
});

test('a failure is one sentence, with its code for machines and no stack trace', async () => {
  vi.spyOn(demo, 'run').mockRejectedValue(
    new MillraceError({ code: 'bad_input', what: 'The file is empty.' }),
  );
  const { code, out, err } = await millrace('demo --json');
  expect(code).toBe(exit.wrongUse);
  expect(err).toBe('millrace: The file is empty.\n');
  expect(JSON.parse(out)).toEqual({ error: { code: 'bad_input', message: 'The file is empty.' } });
});

test('--debug adds the stack trace', async () => {
  vi.spyOn(demo, 'run').mockRejectedValue(new Error('broken'));
  const { code, err } = await millrace('demo --debug');
  expect(code).toBe(exit.workFailed);
  expect(err).toMatch(/broken\n\s+at /);
});

test('what fails after an interruption was interrupted', async () => {
  vi.spyOn(demo, 'run').mockRejectedValue(new Error('aborted'));
  expect((await millrace('demo', AbortSignal.abort())).code).toBe(exit.interrupted);
});

test('every kind of error has its exit code', () => {
  const failed = (code: MillraceError['code']) => exitCodeOf(new MillraceError({ code, what: '' }));
  expect(failed('bad_setting')).toBe(exit.wrongUse);
  expect(failed('unauthenticated')).toBe(exit.wrongUse);
  expect(failed('forbidden')).toBe(exit.wrongUse);
  expect(failed('not_leader')).toBe(exit.unreachable);
  expect(failed('invariant')).toBe(exit.workFailed);
  expect(exitCodeOf('a string')).toBe(exit.workFailed);
  expect(exitCodeOf(new CommanderError(0, 'commander.version', ''))).toBe(exit.done);
});
