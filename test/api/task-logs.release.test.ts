/** What tasks print, whatever they are, reaches the command line, the SDK and the API while they run. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/millrace.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { RawWorker } from '../rig/raw-grpc.ts';

const MILLRACE = JSON.stringify(
  pathToFileURL(join(import.meta.dirname, '../../dist/client/millrace.js')).href,
);

/** A task that logs, the same on a thread, one that runs until a file is there, and an engine for containers. */
function writeFiles(folder: string): { readonly module: string; readonly engine: string } {
  const [module, engine] = [join(folder, 'tasks.mjs'), join(folder, 'engine.sh')];
  writeFileSync(
    module,
    `import { existsSync, watch } from 'node:fs';
     import { defineTask } from ${MILLRACE};
     export const say = defineTask({
       name: 'say',
       run: async (_input, { log }) => log.warn('said', { cents: 42, apiKey: 'k-123456' }),
     });
     export const threaded = defineTask({
       name: 'threaded',
       thread: import.meta.url,
       run: async (_input, { log }) => {
         console.log('printed on a thread');
         log.info('logged on a thread');
       },
     });
     export const hold = defineTask({
       name: 'hold',
       run: (_input, { log }) => new Promise((resolve) => {
         log.info('holds');
         const watcher = watch(${JSON.stringify(folder)}, () => look());
         const look = () => {
           if (!existsSync(${JSON.stringify(join(folder, 'gate'))})) return;
           watcher.close();
           log.info('lets go');
           resolve(null);
         };
         look();
       }),
     });`,
  );
  writeFileSync(engine, '#!/bin/sh\n[ "$1" = run ] && echo from a container\nexit 0\n');
  chmodSync(engine, 0o755);
  return { module, engine };
}

/** Takes the task with executor `foreign` as a worker in another language would, and writes two lines of it. */
async function runForeignTask(grpc: string, job: string): Promise<void> {
  const worker = new RawWorker(grpc, 'foreign');
  await worker.register({ executors: ['foreign'] });
  const [task = {}] = await worker.tasks();
  expect(await worker.report(task, 'TASK_STATE_RUNNING')).toBe('VERDICT_OK');
  const line = { job_id: job, task_id: 'foreign', attempt: 1, at_ms: Date.now() };
  await worker.grpc.call('ControlPlane.WriteTaskLogs', {
    ...worker.who,
    lines: [
      { ...line, level: 'info', message: 'from elsewhere', fields_json: Buffer.from('{"n":1}') },
      { ...line, level: 'error', message: 'password=hunter2-hunter2' },
    ],
  });
  const result = { result_json: Buffer.from('null') };
  expect(await worker.report(task, 'TASK_STATE_SUCCEEDED', { completed: result })).toBe(
    'VERDICT_OK',
  );
}

const SHELL = 'echo to stdout; echo to stderr >&2; echo token=abcdef0123456789abcdef';
const after = (id: string, dependsOn: string, rest: object): object => ({
  id,
  dependsOn: [dependsOn],
  ...rest,
});

/** One task of each kind, one after the other. */
const TALKS = {
  name: 'talks',
  tasks: [
    { id: 'say', executor: 'say' },
    after('threaded', 'say', { executor: 'threaded' }),
    after('command', 'threaded', {
      executor: 'command',
      input: { command: '/bin/sh', args: ['-c', SHELL] },
    }),
    after('container', 'command', { executor: 'container', input: { image: 'tool' } }),
    after('foreign', 'container', { executor: 'foreign' }),
    after('hold', 'foreign', { executor: 'hold' }),
  ],
};

/** The server's own log has the same lines among others, each of them an object. What a handler prints stays as it is. */
function checkOwnLog(server: TestProcess): void {
  const own = server.output.lines
    .filter(({ from, text }) => from === 'stderr' && text !== 'printed on a thread')
    .map(({ text }) => JSON.parse(text) as Record<string, unknown>);
  for (const line of own) {
    expect(line).toMatchObject({ node: 'n-1', pid: expect.any(Number) as number });
    expect([line['level'], Date.parse(String(line['at']))]).toEqual([
      expect.stringMatching(/^(debug|info|warn|error)$/),
      expect.any(Number),
    ]);
  }
  expect(own).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      message: expect.stringContaining('said') as string,
      fields: { cents: 42, apiKey: '[redacted]' },
    }),
  );
}

test('lines of handlers, threads, commands, containers and foreign workers are kept and followed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'task-logs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { module, engine } = writeFiles(folder);
  const data = join(folder, 'data');
  const server = TestProcess.start(
    [
      ...['up', '--port', '0', '--grpc-port', '0', '--slots', '2', '--data', data],
      ...['--module', module, '--allow-command', '/bin/sh', '--allow-container', engine],
      ...['--log-format', 'json', '--log-level', 'debug', '--node-id', 'n-1'],
    ],
    { folder },
  );
  const [, url = ''] = await server.line(/^millrace ready (\S+)/, 60_000);
  const client = connect(url);
  onTestFinished(() => client.close());
  const { id } = await client.submit(TALKS);
  const followed = TestProcess.start(['logs', id, '--follow', '--json', '--server', url]);
  await followed.line(/"message":"said"/, 60_000);
  const { grpc } = (await (await fetch(`${url}/api/v1/leader`)).json()) as { grpc: string };
  await runForeignTask(grpc, id);
  // It has come although the job has not ended, and nothing else was asked for.
  await followed.line(/"message":"holds"/, 60_000);
  writeFileSync(join(folder, 'gate'), '');
  expect((await followed.exited).code).toBe(0);

  const lines = [];
  for await (const { task, level, message, fields } of client.logs(id, { follow: true }))
    lines.push([task, level, message, fields]);
  // Output and error output of a process are two streams: nobody knows the order between them.
  const sorted = (of: readonly unknown[]): string[] =>
    of.map((each) => JSON.stringify(each)).toSorted();
  expect(sorted(lines)).toEqual(
    sorted([
      ['say', 'warn', 'said', { cents: 42, apiKey: '[redacted]' }],
      ['threaded', 'info', 'printed on a thread', { stream: 'stdout' }],
      ['threaded', 'info', 'logged on a thread', null],
      ['command', 'info', 'to stdout', { stream: 'stdout' }],
      ['command', 'warn', 'to stderr', { stream: 'stderr' }],
      ['command', 'info', 'token=[redacted]', { stream: 'stdout' }],
      ['container', 'info', 'from a container', { stream: 'stdout' }],
      ['foreign', 'info', 'from elsewhere', { n: 1 }],
      ['foreign', 'error', 'password=[redacted]', null],
      ['hold', 'info', 'holds', null],
      ['hold', 'info', 'lets go', null],
    ]),
  );
  const one = TestProcess.start(['logs', `${id}/foreign`, '--server', url]);
  expect((await one.exited).code).toBe(0);
  expect(one.output.text()).toMatch(
    /info {3}from elsewhere {2}\{"n":1\}\n.*error {2}password=\[redacted\]/,
  );
  checkOwnLog(server);
}, 120_000);
