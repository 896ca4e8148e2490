/** `millrace run` as people use it: real processes, to their end or to Ctrl-C. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { appearance } from '../rig/cluster/appearance.ts';
import { within } from '../rig/cluster/deadline.ts';
import { asOf, over } from '../rig/command-line.ts';
import { ScriptedServer } from '../rig/scripted-server.ts';
import { tmpdir } from 'node:os';
import { TestProcess } from '../rig/cluster/process.ts';

const LIMIT_MS = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'millrace-runs-'));

/** Whatever a run makes, it makes here. */
const temporary = join(folder, 'tmp');

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const start = (...args: readonly string[]) =>
  TestProcess.start(['run', ...args], { environment: { TMPDIR: temporary } });

const lines = ({ output }: TestProcess, from: 'stdout' | 'stderr'): string =>
  output.lines
    .filter((line) => line.from === from)
    .map(({ text }) => text)
    .join('\n');

async function ended(run: TestProcess) {
  const exit = await within(LIMIT_MS, run.exited, () => run.output.text());
  expect(leftovers()).toEqual([]);
  return exit;
}
const handlers = file(
  'handlers.mjs',
  `import { renameSync, writeFileSync } from 'node:fs';
   const task = (name, run) => ({ kind: 'millrace.task', name, run });
   // Whoever sees the file sees all of it.
   const mark = (path) => {
     writeFileSync(path + '.new', String(process.pid));
     renameSync(path + '.new', path);
   };
   export const double = task('double', (n) => { console.log('a handler prints'); return n * 2; });
   export const fail = task('fail', () => { throw new Error('the printer is on fire'); });
   export const wait = task('wait', (path, { signal }) => new Promise((_, no) => {
     mark(path);
     signal.addEventListener('abort', () => no(signal.reason));
   }));
   export const deaf = task('deaf', (path) => { mark(path); return new Promise(() => {}); });`,
);

/** Started, with a handler at work; answers the process id of its worker. */
async function atWork(
  executor: string,
): Promise<{ readonly run: TestProcess; readonly worker: number }> {
  const mark = join(folder, `mark-${executor}`);
  rmSync(mark, { force: true });
  const tasks = [
    { id: 'a', executor, input: mark },
    { id: 'b', executor: 'echo', dependsOn: ['a'] },
  ];
  const document = file(`${executor}.json`, JSON.stringify({ tasks }));
  const run = start(document, '--module', handlers);
  const over = run.exited.then(() => expect.fail(run.output.text()));
  const started = run.output.line(/ started +a /, 'stderr');
  // The word may be out before the handler is at work.
  const begun = Promise.race([Promise.all([started, appearance(mark)]), over]);
  await within(LIMIT_MS, begun, () => run.output.text());
  return { run, worker: Number(readFileSync(mark, 'utf8')) };
}

/** A process that is cut off leaves its token, which nobody else can read, to be swept by the next one. */
function leftovers(): readonly string[] {
  return readdirSync(temporary).filter((name) => /^millrace-(?!local-)/.test(name));
}

vi.setConfig({ testTimeout: 120_000 });
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
beforeEach(() => {
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary);
});

test('a flow in TypeScript runs with its input, and --json ends with the job as the API shows it', async () => {
  const flow = file(
    'flow.ts',
    `interface Order { readonly cents: number }
     const charge = { kind: 'millrace.task' as const, name: 'charge',
       run: (order: Order) => ({ paid: order.cents }) };
     export default { kind: 'millrace.flow' as const, name: 'order', tasks: [charge],
       toDocument: (input: unknown) => ({ name: 'order', tasks: [{ id: 'charge', executor: 'charge', input }] }) };`,
  );
  const run = start(flow, '--input', '{"cents": 700}', '--json');
  expect(await ended(run)).toEqual({ code: 0, signal: null });
  expect(JSON.parse(lines(run, 'stdout'))).toMatchObject({
    ...{ name: 'order', state: 'succeeded', result: { paid: 700 } },
    tasks: [{ id: 'charge', state: 'succeeded' }],
  });
});

test('a job that fails says why and ends with 1', async () => {
  const document = file(
    'fail.yaml',
    'tasks: [{ id: print, executor: fail, retry: { maxAttempts: 1 } }]',
  );
  const run = start(document, '--module', handlers);
  expect(await ended(run)).toEqual({ code: 1, signal: null });
  expect(lines(run, 'stdout')).toBe('');
  expect(lines(run, 'stderr')).toMatch(/^ {2}print {2}\w+: .*the printer is on fire/m);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test.each(['process', 'group'] as const)(
  'Ctrl-C cancels the job, says so and leaves nothing (the signal goes to the %s)',
  async (whom) => {
    const { run, worker } = await atWork('wait');
    run.kill('SIGINT', whom);
    expect(await ended(run)).toEqual({ code: 130, signal: null });
    expect(lines(run, 'stderr')).toContain('Interrupted: cancelling the job.');
    expect(lines(run, 'stderr')).toMatch(/Job \S+ cancelled after/);
    expect(isAlive(worker)).toBe(false);
  },
);

const BIN = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

const chain = `
name: chain
output: { doubled: { $from: double } }
tasks:
  - { id: first, executor: echo, input: { n: 21 } }
  - { id: double, executor: double, input: { $from: first, path: /n }, dependsOn: [first] }
`;

test('a job document runs to its end; the result is on stdout and all else on stderr', async () => {
  const run = start(file('chain.yaml', chain), '--module', handlers);
  expect(await ended(run)).toEqual({ code: 0, signal: null });
  expect(JSON.parse(lines(run, 'stdout'))).toEqual({ doubled: 42 });
  const said = lines(run, 'stderr');
  expect(said).toMatch(/completed +double {2}on here/);
  expect(said).toContain('a handler prints');
  expect(said).toMatch(/Job \S+ succeeded after \S+, 2 tasks\.$/m);
});

test.each([
  ['wrong.yaml', 'tasks:\n  - id: a\n', /wrong\.yaml:2:5: \/tasks\/0\/executor: /],
  [
    'strange.yaml',
    'tasks: [{ id: a, executor: ech }]',
    /needs the executor 'ech'.*Did you mean 'echo'\?/,
  ],
  ['broken.ts', 'export default {', /broken\.ts/],
])('%s is refused with 2 and a sentence', async (name, text, sentence) => {
  const run = start(file(name, text));
  expect(await ended(run)).toEqual({ code: 2, signal: null });
  expect(lines(run, 'stderr')).toMatch(sentence);
  expect(lines(run, 'stderr')).not.toMatch(/^ {4}at /m);
  expect(lines(run, 'stdout')).toBe('');
});

test('a second Ctrl-C ends at once, and the folder is gone as well', async () => {
  const { run } = await atWork('deaf');
  run.kill('SIGINT');
  await run.output.line(/Interrupted/, 'stderr');
  run.kill('SIGINT');
  expect(await ended(run)).toEqual({ code: 130, signal: null });
});

test('with --server the job is submitted and followed there', async () => {
  const server = await ScriptedServer.start();
  onTestFinished(() => server.close());
  server.script('GET /api/v1/jobs', {
    json: { jobs: [], cursor: null, asOf: { ...asOf, seq: 9 } },
  });
  server.script('POST /api/v1/jobs', { status: 201, json: { id: 'j-1', state: 'queued' } });
  server.script('GET /api/v1/jobs/j-1', { json: { ...over, result: [1, 2] } });
  const run = start(
    file('small.yaml', 'tasks: [{ id: a, executor: nobody }]'),
    '--server',
    server.url,
  );
  expect(await ended(run)).toEqual({ code: 0, signal: null });
  expect(JSON.parse(lines(run, 'stdout'))).toEqual([1, 2]);
});

/** In a terminal of its own, as people have one; what it shows is in `screen`. */
async function inTerminal(): Promise<{
  readonly terminal: ReturnType<typeof spawn>;
  readonly exited: Promise<unknown>;
  readonly screen: () => string;
}> {
  const mark = join(folder, 'mark-terminal');
  rmSync(mark, { force: true });
  const tasks = [
    { id: 'slow', executor: 'wait', input: mark },
    { id: 'next', executor: 'echo', dependsOn: ['slow'] },
  ];
  const document = file('terminal.json', JSON.stringify({ name: 'graph', tasks }));
  const command = [process.execPath, BIN, 'run', document, '--module', handlers];
  const flags =
    process.platform === 'darwin'
      ? ['-q', '/dev/null', ...command]
      : ['-qec', command.map((word) => `'${word}'`).join(' '), '/dev/null'];
  const look = { LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', NO_COLOR: '1', TERM: 'xterm' };
  const terminal = spawn('script', flags, {
    env: { ...process.env, TMPDIR: temporary, ...look },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void terminal.kill('SIGKILL'));
  let text = '';
  const drawn = new Promise<void>((resolve) => {
    terminal.stdout.on('data', (chunk) => {
      text += String(chunk);
      if (/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] {2}slow.*[\s\S]*· {2}next/.test(text)) resolve();
    });
  });
  const exited = once(terminal, 'exit');
  // A task is drawn as running once it is given out; its handler may not be at work yet.
  await within(LIMIT_MS, Promise.all([drawn, appearance(mark)]), () => text);
  return { terminal, exited, screen: () => text };
}

test('in a terminal the graph is drawn in place, and Ctrl-C gives the cursor back', async () => {
  const { terminal, exited, screen } = await inTerminal();
  expect(screen()).toContain('\u001B[?25l');
  terminal.stdin?.write('\u0003');
  expect(await within(LIMIT_MS, exited, screen)).toEqual([130, null]);
  expect(screen()).toMatch(/⊘ {2}slow/);
  expect(screen().lastIndexOf('\u001B[?25h')).toBeGreaterThan(screen().lastIndexOf('\u001B[?25l'));
  expect(leftovers()).toEqual([]);
});

test('closing the terminal ends the run', async () => {
  const { exited, screen } = await inTerminal();
  // The command is the child of `script`; a terminal that goes tells it so.
  process.kill(runnerOf(Number(readFileSync(join(folder, 'mark-terminal'), 'utf8'))), 'SIGHUP');
  expect(await within(LIMIT_MS, exited, screen)).toEqual([130, null]);
  expect(leftovers()).toEqual([]);
});

/** The parent of a worker is the process that runs the command. */
function runnerOf(worker: number): number {
  return Number(execFileSync('ps', ['-o', 'ppid=', '-p', `${worker}`], { encoding: 'utf8' }));
}
