/** `millrace run` as people use it: real processes, to their end or to Ctrl-C. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { appearance } from '../rig/cluster/appearance.ts';
import { within } from '../rig/cluster/deadline.ts';
import { asOf, over } from '../rig/command-line.ts';
import { ScriptedServer } from '../rig/scripted-server.ts';
import {
  LIMIT_MS,
  folder,
  temporary,
  file,
  start,
  lines,
  ended,
  handlers,
  atWork,
  leftovers,
} from './run-setup.ts';

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

test('a terminal that is closed takes the run with it', async () => {
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
