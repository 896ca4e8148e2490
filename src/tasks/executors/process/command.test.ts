import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { Json, JsonObject } from '../../../scheduler/core/index.ts';
import { deferred, systemClock } from '../../../kit/index.ts';
import type { Clock } from '../../../kit/index.ts';
import { VirtualClock } from '../../../../test/rig/virtual-clock.ts';
import { testContext, thrownBy } from '../../../../test/rig/task-context.ts';
import { classifyFailure } from '../failure.ts';
import type { Failure } from '../failure.ts';
import { commandExecutor } from './command.ts';
import type { ProcessResult } from './result.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-command-'));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

const allowed = ['sh', 'cat', 'env', 'no-such-program', process.execPath];

const allowedEnv = ['ONE', 'TWO', 'APP_*', 'GIT_AUTHOR_NAME'];

function run(input: Json, context = testContext(), clock: Clock = systemClock) {
  const executor = commandExecutor(clock, { allowed, allowedEnv, killGraceMs: 2_000 });
  return Promise.resolve(executor.run(input, context)) as Promise<ProcessResult>;
}

function shell(script: string, more: JsonObject = {}): JsonObject {
  return { command: 'sh', args: ['-c', script], ...more };
}

async function failure(input: Json): Promise<Failure> {
  return classifyFailure(await thrownBy(() => run(input)));
}

/** A zombie that nobody has buried yet is dead. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return /^[^Z\s]/.test(stdout.trim());
}

/** Processes call in here with their pids, and are seen to be gone when their connections end. */
async function rollCall() {
  const pids = deferred<readonly number[]>();
  const gone = deferred();
  const found: number[] = [];
  let expected = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (data) => {
      found.push(Number(data));
      if (found.length === expected) pids.resolve(found);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) gone.resolve();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const member = (isDeaf: boolean): string =>
    (isDeaf ? "process.on('SIGTERM', () => {});" : '') +
    `require('net').connect(${port}, '127.0.0.1').write(String(process.pid))`;
  return {
    member,
    expect(count: number) {
      expected = count;
      return pids.promise;
    },
    gone: gone.promise,
    close: () => server.close(),
  };
}

test('it runs the command and returns its exit code and output', async () => {
  expect(await run(shell('echo out; echo err >&2'))).toEqual({
    exitCode: 0,
    stdout: 'out\n',
    stderr: 'err\n',
  });
});

test('arguments are passed unchanged, without a shell', async () => {
  const args = [
    '-e',
    'console.log(JSON.stringify(process.argv.slice(1)))',
    '--',
    '$HOME',
    '; ls',
    '',
  ];
  const { stdout } = await run({ command: process.execPath, args });
  expect(JSON.parse(stdout)).toEqual(['$HOME', '; ls', '']);
});

test('text and JSON are written to stdin, which need not be read', async () => {
  expect((await run({ command: 'cat', stdin: 'plain' })).stdout).toBe('plain');
  expect((await run({ command: 'cat', stdin: { a: 1 } })).stdout).toBe('{"a":1}');
  expect((await run({ command: 'cat' })).stdout).toBe('');
  expect(await run(shell('exit 0', { stdin: 'x'.repeat(1_000_000) }))).toMatchObject({
    exitCode: 0,
  });
});

test('its environment is PATH and the variables of the task, and nothing of the worker', async () => {
  vi.stubEnv('TEST_SECRET', 'not for tasks');
  const { stdout } = await run({ command: 'env', env: { ONE: 'a=b', TWO: 2 }, cwd: folder });
  // What shells add, and what Node gives to every child while coverage is measured.
  const others = /^(PWD|SHLVL|_|NODE_V8_COVERAGE)=/;
  const names = stdout.split('\n').filter((line) => !others.test(line));
  expect(names.toSorted()).toEqual(['', 'ONE=a=b', `PATH=${process.env['PATH']}`, 'TWO=2']);
});

test.each([['ls'], ['/bin/sh'], ['./sh'], ['sh '], ['SH']])(
  'what is not on the list is refused for good: %s',
  async (command) => {
    expect(await failure({ command })).toMatchObject({
      failure: 'fatal',
      error: { code: 'refused_command' },
    });
  },
);

test('another exit code may be retried, with its last output, unless it is in okExitCodes', async () => {
  expect(await failure(shell('echo first >&2; echo no disk >&2; exit 7'))).toEqual({
    failure: 'retryable',
    error: { code: 'exit_7', message: 'sh ended with exit code 7: first\nno disk' },
  });
  expect(await run(shell('exit 7', { okExitCodes: [0, 7] }))).toMatchObject({ exitCode: 7 });
  expect(await failure(shell('exit 0', { okExitCodes: [1] }))).toMatchObject({
    error: { code: 'exit_0' },
  });
  expect(await failure(shell('kill -SEGV $$'))).toMatchObject({
    failure: 'retryable',
    error: { code: 'signal_SIGSEGV' },
  });
});

test.each([
  ['a program that is not there', { command: 'no-such-program' }],
  ['a folder that is not there', { command: 'cat', cwd: '/no/such/folder' }],
])('%s is said, and another worker may have it', async (_name, input) => {
  expect(await failure(input)).toMatchObject({
    failure: 'retryable',
    error: { code: 'cannot_start' },
  });
});

test('of too much output the beginning and the end are kept, with a mark and a warning in the log', async () => {
  const context = testContext();
  const script = 'printf begin; head -c 3000000 /dev/zero | tr "\\0" x; printf end';
  const { stdout } = await run(shell(script, { maxOutputBytes: 1_000 }), context);
  expect(stdout).toMatch(/^beginx+\n\[\.\.\. 2999008 bytes omitted \.\.\.\]\nx+end$/);
  expect(stdout.length).toBeLessThan(1_100);
  expect(context.logged).toEqual([expect.stringContaining('2999008 bytes')]);
});

test('an abort ends the whole process group, and rejects when it is gone', async () => {
  const roll = await rollCall();
  const node = JSON.stringify(process.execPath);
  const script = [1, 2].map((n) => `${node} -e "${roll.member(false)}" ${n} &`).join('\n');
  const context = testContext();
  const running = thrownBy(() => run(shell(`${script}\nwait`), context));
  const pids = await roll.expect(2);
  expect(pids.map(isAlive)).toEqual([true, true]);
  const reason = new MillraceError({ code: 'superseded', what: 'enough' });
  context.abort(reason);
  expect(await running).toBe(reason);
  await roll.gone;
  await vi.waitFor(() => expect(pids.map(isAlive)).toEqual([false, false]));
  roll.close();
});

test('a group that ignores SIGTERM is killed after the grace period', async () => {
  const roll = await rollCall();
  const clock = new VirtualClock();
  const context = testContext();
  const args = ['-e', roll.member(true)];
  const running = thrownBy(() => run({ command: process.execPath, args }, context, clock));
  const [pid = 0] = await roll.expect(1);
  const reason = new MillraceError({ code: 'superseded', what: 'enough' });
  context.abort(reason);
  await clock.advance(1_999);
  expect(isAlive(pid)).toBe(true);
  await clock.advance(1);
  expect(await running).toBe(reason);
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false));
  roll.close();
});

test('a command that exceeds timeoutMs is ended and may be retried', async () => {
  const roll = await rollCall();
  const clock = new VirtualClock();
  const args = ['-e', roll.member(false)];
  const running = thrownBy(() =>
    run({ command: process.execPath, args, timeoutMs: 60_000 }, testContext(), clock),
  );
  const [pid = 0] = await roll.expect(1);
  await clock.advance(60_000);
  expect(classifyFailure(await running)).toMatchObject({
    failure: 'retryable',
    error: { code: 'timeout' },
  });
  expect(isAlive(pid)).toBe(false);
  roll.close();
});

test('background processes of a command end with it', async () => {
  const roll = await rollCall();
  const node = JSON.stringify(process.execPath);
  const file = join(folder, 'go');
  // It ends only when the one in the background is seen to run.
  const script = `${node} -e "${roll.member(true)}" & while [ ! -e ${file} ]; do :; done; echo done`;
  const running = run(shell(script));
  const [pid = 0] = await roll.expect(1);
  writeFileSync(file, '');
  expect(await running).toMatchObject({ exitCode: 0, stdout: 'done\n' });
  await roll.gone;
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false));
  roll.close();
});

test('the process groups of commands are killed with their worker', async () => {
  const roll = await rollCall();
  const member = JSON.stringify(roll.member(true));
  const source = new URL('./child.ts', import.meta.url).href;
  const script = `
    import { systemClock } from ${JSON.stringify(new URL('../../../kit/index.ts', import.meta.url).href)};
    import { runChild } from ${JSON.stringify(source)};
    const plan = { name: 'x', file: process.execPath, env: {}, stdin: null, timeoutMs: null,
      maxOutputBytes: 10, killGraceMs: 1000 };
    const { signal } = new AbortController();
    void runChild({ ...plan, args: ['-e', 'process.exit()'] }, signal, systemClock).then(() => {
      for (const n of [1, 2]) {
        void runChild({ ...plan, args: ['-e', ${member}, String(n)] }, signal, systemClock);
      }
    });`;
  const worker = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const pids = await roll.expect(2);
  expect(pids.map(isAlive)).toEqual([true, true]);
  worker.kill('SIGKILL');
  await roll.gone;
  await vi.waitFor(() => expect(pids.map(isAlive)).toEqual([false, false]));
  roll.close();
});

test.each<[string, JsonObject]>([
  ['/command', {}],
  ['/command', { command: 5 }],
  ['/args', { command: 'sh', args: 'x' }],
  ['/args/1', { command: 'sh', args: ['a', 1] }],
  ['/args/0', { command: 'sh', args: ['a\0b'] }],
  ['/env', { command: 'sh', env: [] }],
  ['/env/A=B', { command: 'sh', env: { 'A=B': 'c' } }],
  ['/env/A', { command: 'sh', env: { A: {} } }],
  ...[
    ...['LD_PRELOAD', 'DYLD_INSERT_LIBRARIES', 'GCONV_PATH', 'PATH', 'IFS', 'ENV', 'BASH_ENV'],
    ...[
      'SHELLOPTS',
      'PS4',
      'NODE_OPTIONS',
      'NODE_PATH',
      'PYTHONPATH',
      'PYTHONWARNINGS',
      'PERL5OPT',
    ],
    ...[
      'RUBYOPT',
      'JAVA_TOOL_OPTIONS',
      '_JAVA_OPTIONS',
      'JDK_JAVA_OPTIONS',
      'CLASSPATH',
      'LUA_INIT',
    ],
    ...['GIT_SSH_COMMAND', 'GIT_CONFIG_COUNT', 'GIT_CONFIG_KEY_0', 'PAGER', 'EDITOR', 'LESSOPEN'],
    ...['DOTNET_STARTUP_HOOKS', 'OPENSSL_CONF', 'npm_config_script_shell'],
  ].map(
    (name) => [`/env/${name}`, { command: 'sh', env: { [name]: 'x' } }] as [string, JsonObject],
  ),
  ['/cwd', { command: 'sh', cwd: 'relative' }],
  ['/shell', { command: 'sh', shell: true }],
  ['/okExitCodes/0', { command: 'sh', okExitCodes: ['0'] }],
  ['/maxOutputBytes', { command: 'sh', maxOutputBytes: -1 }],
])('what cannot be run is refused with its place: %s %j', async (path, input) => {
  const found = await failure(input);
  expect(found).toMatchObject({ failure: 'fatal', error: { code: 'bad_input' } });
  expect(found.error.message.startsWith(`${path}: `)).toBe(true);
});

test('a task may set the variables that the operator named, and those of language and time zone', async () => {
  const env = {
    APP_MODE: 'x',
    ONE: '1',
    GIT_AUTHOR_NAME: 'Ada',
    LANG: 'C',
    LC_ALL: 'C',
    TZ: 'UTC',
  };
  const { stdout } = await run({ command: 'env', env });
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining(Object.entries(env).map((pair) => pair.join('='))),
  );
});

test.each([
  ...['MODE', 'NODE_EXTRA_CA_CERTS', 'HOME', 'PYTHONUNBUFFERED', 'SSLKEYLOGFILE', 'APPMODE'],
  ...['one', 'http_proxy', 'LOCPATH', 'TZDIR', 'GIT_AUTHOR_EMAIL'],
])('a variable that nobody named is refused, whatever it is for: %s', async (name) => {
  const found = await failure({ command: 'env', env: { [name]: 'x' } });
  expect(found).toMatchObject({ failure: 'fatal', error: { code: 'bad_input' } });
  expect(found.error.message).toContain(`--allow-env ${name}`);
});

test('a pattern never allows a variable that loads code, a name does', async () => {
  const env = (name: string, given: readonly string[]) =>
    commandExecutor(systemClock, { allowed, allowedEnv: given, killGraceMs: 2_000 }).run(
      { command: 'env', env: { [name]: '' } },
      testContext(),
    );
  await expect(env('LD_PRELOAD', ['*'])).rejects.toMatchObject({ code: 'bad_input' });
  await expect(env('NODE_OPTIONS', ['NODE_*'])).rejects.toMatchObject({ code: 'bad_input' });
  await expect(env('PATH', ['PATH'])).rejects.toMatchObject({ code: 'bad_input' });
  await expect(env('NODE_OPTIONS', ['NODE_OPTIONS'])).resolves.toMatchObject({ exitCode: 0 });
});
