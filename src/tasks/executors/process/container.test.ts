/**
 * No real engine runs here: `engine` below is a script that records how it was called and does as little
 * as a docker-compatible command line must. What a real engine makes of the words is not tested.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { Json, JsonObject } from '../../../scheduler/core/index.ts';
import { systemClock } from '../../../kit/index.ts';
import { testContext, thrownBy } from '../../../../test/rig/task-context.ts';
import { classifyFailure } from '../failure.ts';
import type { Failure } from '../failure.ts';
import { containerExecutor } from './container.ts';
import type { ProcessResult } from './result.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-container-test-')));
afterAll(() => rmSync(folder, { recursive: true }));

const root = join(folder, 'root');
mkdirSync(join(root, 'in'), { recursive: true });
mkdirSync(join(folder, 'root-but-not'));
symlinkSync('/etc', join(root, 'link-out'));
symlinkSync(join(root, 'in'), join(folder, 'link-in'));

const calls = join(folder, 'calls');
const running = join(folder, 'running');
const engine = join(folder, 'engine');
writeFileSync(
  engine,
  `#!${process.execPath}
const { appendFileSync, readFileSync, rmSync, watch, writeFileSync, existsSync } = require('fs');
const args = process.argv.slice(2);
const at = args.indexOf('--env-file');
const env = at === -1 ? null : readFileSync(args[at + 1], 'utf8');
const secrets = Object.keys(process.env).filter((name) => name.startsWith('TEST_'));
appendFileSync(${JSON.stringify(calls)}, JSON.stringify({ args, env, secrets }) + '\\n');
const [word] = args;
if (word === 'ps') console.log('abc123\\ndef456');
if (word === 'kill') rmSync(${JSON.stringify(running)}, { force: true });
if (word === 'run') {
  const behaviour = args.at(-1);
  if (behaviour === 'echo') process.stdin.pipe(process.stdout);
  if (behaviour === 'fail') { console.error('from inside'); process.exitCode = 3; }
  if (behaviour === 'engine') { console.error('no such image'); process.exitCode = 125; }
  if (behaviour === 'hang') {
    // Like one that leaves SIGTERM to the container: only the end of the container ends it.
    process.on('SIGTERM', () => {});
    watch(${JSON.stringify(folder)}, () => {
      if (!existsSync(${JSON.stringify(running)})) process.exit(137);
    });
    writeFileSync(${JSON.stringify(running)}, '');
  }
}
`,
  { mode: 0o755 },
);

beforeEach(() => rmSync(calls, { force: true }));
afterEach(() => vi.unstubAllEnvs());

interface ContainerCall {
  readonly args: readonly string[];
  readonly env: string | null;
  readonly secrets: readonly string[];
}

function recordedCalls(): readonly ContainerCall[] {
  const lines = readFileSync(calls, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as ContainerCall);
}

function run(input: Json, context = testContext()) {
  const options = { cli: engine, roots: [root], killGraceMs: 10_000 };
  return Promise.resolve(
    containerExecutor(systemClock, options).run(input, context),
  ) as Promise<ProcessResult>;
}

async function failure(input: Json): Promise<Failure> {
  return classifyFailure(await thrownBy(() => run(input)));
}

test('it runs the image with its options, isolated unless the task says otherwise', async () => {
  vi.stubEnv('TEST_SECRET', 'not for tasks');
  const result = await run({
    image: 'registry.example/tool:1.2@sha256:ab',
    command: '/bin/tool',
    args: ['--fast', 'echo'],
    env: { KEY: 'a b=c', N: 1, PATH: '/own/bin' },
    mounts: [
      { source: join(root, 'in'), target: '/in' },
      { source: join(folder, 'link-in'), target: '/out', readOnly: false },
    ],
    memory: '512m',
    cpus: 1.5,
    workdir: '/in',
    user: '1000:1000',
    stdin: 'hello',
  });
  expect(result).toEqual({ exitCode: 0, stdout: 'hello', stderr: '' });
  const [{ args, env, secrets } = { args: [], env: null, secrets: [] }, ...more] = recordedCalls();
  expect(more).toEqual([]);
  expect(secrets).toEqual([]);
  expect(env).toBe('KEY=a b=c\nN=1\nPATH=/own/bin\n');
  const [word, rm, init, nameFlag, name, ...rest] = args;
  expect([word, rm, init, nameFlag]).toEqual(['run', '--rm', '--init', '--name']);
  expect(name).toMatch(/^millrace-[0-9a-f]{32}$/);
  const file = rest.indexOf('--env-file') + 1;
  expect(existsSync(rest[file] ?? '')).toBe(false);
  expect(rest.toSpliced(file, 1)).toEqual([
    ...['--label', 'millrace.job=job-1', '--label', 'millrace.task=task-1'],
    ...['--label', 'millrace.fence=1', '--env-file', '--interactive', '--network', 'none'],
    ...['--security-opt', 'no-new-privileges', '--memory', '512m', '--cpus', '1.5'],
    ...['--user', '1000:1000', '--workdir', '/in', '--entrypoint', '/bin/tool'],
    ...['--mount', `type=bind,source=${join(root, 'in')},target=/in,readonly`],
    ...['--mount', `type=bind,source=${join(root, 'in')},target=/out`],
    ...['registry.example/tool:1.2@sha256:ab', '--fast', 'echo'],
  ]);
});

test('two attempts of a task have two names, and what an earlier one left behind is removed', async () => {
  const nameOf = ({ args }: ContainerCall): string | undefined => args[args.indexOf('--name') + 1];
  await run({ image: 'a', args: ['echo'] }, testContext({ fence: 1 }));
  await run({ image: 'a', args: ['echo'] }, testContext({ fence: 2 }));
  const [first, ps, rm, second] = recordedCalls();
  const filters = ['label=millrace.job=job-1', '--filter', 'label=millrace.task=task-1'];
  expect(ps?.args).toEqual(['ps', '--all', '--quiet', '--filter', ...filters]);
  expect(rm?.args).toEqual(['rm', '--force', 'abc123', 'def456']);
  expect(first && second && nameOf(first) !== nameOf(second)).toBe(true);
});

test('a cancelled container is killed by its name, and removed in case it came up late', async () => {
  const context = testContext();
  const started = thrownBy(() => run({ image: 'a', args: ['hang'] }, context));
  await vi.waitFor(() => expect(existsSync(running)).toBe(true), { timeout: 10_000 });
  const reason = new MillraceError({ code: 'superseded', what: 'enough' });
  context.abort(reason);
  expect(await started).toBe(reason);
  const [begun, ...ended] = recordedCalls();
  const name = begun?.args[4];
  expect(ended.map(({ args }) => args)).toEqual([
    ['kill', name],
    ['rm', '--force', name],
  ]);
});

test('the failure of what runs inside is distinguished from that of the engine', async () => {
  expect(await failure({ image: 'a', args: ['fail'] })).toEqual({
    failure: 'retryable',
    error: { code: 'exit_3', message: 'a ended with exit code 3: from inside' },
  });
  expect(await failure({ image: 'a', args: ['engine'] })).toMatchObject({
    failure: 'retryable',
    error: {
      code: 'container_engine',
      message: expect.stringContaining('no such image') as string,
    },
  });
});

test.each([
  '/etc',
  join(root, 'link-out'),
  join(root, 'in', '..', '..'),
  join(folder, 'root-but-not'),
  join(root, 'not-there'),
  'root/in',
])('a mount outside of the roots is refused for good: %s', async (source) => {
  expect(await failure({ image: 'a', mounts: [{ source, target: '/x' }] })).toMatchObject({
    failure: 'fatal',
    error: { code: 'refused_mount' },
  });
  expect(existsSync(calls)).toBe(false);
});

test.each<[string, JsonObject]>([
  ['/image', {}],
  ['/image', { image: '--privileged' }],
  ['/image', { image: 'a b' }],
  ['/network', { image: 'a', network: 'host' }],
  ['/network', { image: 'a', network: 'container:other' }],
  ['/memory', { image: 'a', memory: 'much' }],
  ['/cpus', { image: 'a', cpus: 0 }],
  ['/user', { image: 'a', user: '--x' }],
  ['/workdir', { image: 'a', workdir: 'x' }],
  ['/privileged', { image: 'a', privileged: true }],
  ['/env/A', { image: 'a', env: { A: 'x\nB=y' } }],
  ['/mounts/0/target', { image: 'a', mounts: [{ source: root, target: 'x' }] }],
  ['/mounts/0', { image: 'a', mounts: [{ source: root, target: '/x,readonly=false' }] }],
  ['/mounts/0/readOnly', { image: 'a', mounts: [{ source: root, target: '/x', readOnly: 'no' }] }],
])('what cannot be run is refused with its place: %s %j', async (path, input) => {
  const found = await failure(input);
  expect(found).toMatchObject({ failure: 'fatal', error: { code: 'bad_input' } });
  expect(found.error.message.startsWith(`${path}: `)).toBe(true);
  expect(existsSync(calls)).toBe(false);
});
