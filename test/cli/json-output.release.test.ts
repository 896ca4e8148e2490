/** `--json` on stdout is JSON and nothing else: every command of the program, against a real node. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { catalogue } from '../../src/cli/catalogue.ts';
import { run } from '../../src/cli/program.ts';
import { within } from '../rig/cluster/deadline.ts';
import { folder, LIMIT_MS, said, start } from './sql-setup.ts';

const file = (name: string): string => join(folder, name);
const ANY_PORT = ['--port', '0', '--grpc-port', '0'];
const job = { name: 'one', tasks: [{ id: 'a', executor: 'echo', input: 1 }] };
const bad = { name: 'bad', tasks: [{ id: 'a', executor: 'sleep', input: { ms: 'x' } }] };

interface Scene {
  readonly url: string;
  readonly id: string;
  readonly dead: string;
  readonly query: string;
}

/** Lines of each command, in the order in which they run. */
const LINES: Readonly<Record<string, (scene: Scene) => readonly (readonly string[])[]>> = {
  run: () => [['run', file('job.json')]],
  sql: ({ url }) => [
    ['sql', 'select 1 as n'],
    ['sql', 'select 1 as n', '--server', url],
    ['sql', 'select 1 as n', '--explain', '--server', url],
    ['sql', 'select 1 as n', '--analyze', '--server', url],
    ['sql', 'select nonsense', '--server', url],
  ],
  submit: ({ url }) => [
    ['submit', file('job.json'), '--wait', '--server', url],
    ['submit', file('jobs.json'), '--wait', '--server', url],
    ['submit', file('bad.json'), '--wait', '--server', url],
  ],
  flows: ({ url }) => [['flows', '--server', url]],
  start: ({ url }) => [['start', 'nope', '--server', url]],
  send: ({ url }) => [['send', 'nobody.listens', '--data', '1', '--server', url]],
  logs: ({ url, id }) => [['logs', id, '--server', url]],
  jobs: ({ url }) => [['jobs', '--limit', '1', '--server', url]],
  job: ({ url, id }) => [
    ['job', id, '--server', url],
    ['job', id, '--follow', '--server', url],
    ['job', id, '--task', 'a', '--server', url],
  ],
  cancel: ({ url, id }) => [['cancel', id, '--server', url]],
  priority: ({ url, id }) => [['priority', id, '1', '--server', url]],
  reschedule: ({ url, id }) => [['reschedule', id, '--now', '--server', url]],
  signal: ({ url, id }) => [['signal', id, 'go', '--server', url]],
  rerun: ({ url, dead }) => [['rerun', dead, '--server', url]],
  fork: ({ url, id }) => [['fork', id, '--from', 'a', '--wait', '--server', url]],
  redrive: ({ url, dead }) => [['redrive', dead, 'a', '--server', url]],
  explain: ({ url, id }) => [['explain', `${id}/a`, '--server', url]],
  events: ({ url, id }) => [['events', '--job', id, '--server', url]],
  queries: ({ url, query }) => [
    ['queries', '--server', url],
    ['queries', query, '--server', url],
  ],
  remove: ({ url, id }) => [['remove', id, '--server', url]],
  nodes: ({ url }) => [['nodes', '--server', url]],
  drain: ({ url }) => [['drain', 'here', '--wait', '--server', url]],
  release: ({ url }) => [['release', 'here', '--server', url]],
  queues: ({ url }) => [
    ['queues', 'pause', 'nobody', '--server', url],
    ['queues', '--server', url],
    ['queues', 'resume', 'nobody', '--server', url],
  ],
  schedules: ({ url }) => [
    ['schedules', 'create', 's', file('job.json'), '--every', '1h', '--server', url],
    ['schedules', '--server', url],
    ['schedules', 'trigger', 's', '--server', url],
    ['schedules', 'trigger', 's', '--at', '2026-11-01T00:00:00Z', '--server', url],
    ['schedules', 'backfill', 's', '--from', new Date().toISOString(), '--server', url],
    ['schedules', 'delete', 's', '--server', url],
  ],
  up: () => [['up', '--data', file('other'), '--slots', '0', ...ANY_PORT]],
  dev: () => [['dev', '--data', file('third'), '--slots', '0', ...ANY_PORT]],
  serve: () => [['serve', '--database', 'nonsense']],
  open: ({ url }) => [['open', '--no-browser', '--server', url]],
  worker: ({ url }) => [['worker', '--server', url, '--node-id', 'w-2']],
  migrate: () => [['migrate', 'status', '--data', file('other')]],
  export: () => [['export', file('x.ndjson'), '--data', file('other')]],
  import: () => [['import', file('x.ndjson'), '--data', file('fourth')]],
  config: () => [['config']],
  schema: () => [['schema']],
  completion: () => [['completion', 'bash']],
  // demo.release.test.ts reads its whole stdout as one object.
  demo: () => [],
};
/** They print one object for each of what may be none. */
const MAY_BE_SILENT: ReadonlySet<string> = new Set(['logs', 'events']);
const SERVING: ReadonlySet<string> = new Set(['up', 'dev', 'worker']);

/** Those that serve are processes; the others run here, which is quicker, and what they write past `out` counts too. */
async function output(line: readonly string[]): Promise<string> {
  if (!SERVING.has(line[0] ?? '')) return outputHere([...line, '--json']);
  const command = start(...line, '--json');
  await command.line(/"ready":true/, LIMIT_MS);
  command.kill('SIGINT', 'process');
  await within(LIMIT_MS, command.exited, () => command.output.text());
  return said(command, 'stdout');
}

async function outputHere(line: readonly string[]): Promise<string> {
  let text = '';
  const add = (piece: string): void => void (text += piece);
  const past = vi.spyOn(process.stdout, 'write').mockImplementation((piece) => {
    add(String(piece));
    return true;
  });
  try {
    await run(line, { out: add, err: () => {}, signal: AbortSignal.timeout(LIMIT_MS) });
  } finally {
    past.mockRestore();
  }
  return text.trimEnd();
}

const objects = (text: string): readonly Readonly<Record<string, unknown>>[] =>
  text.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);

function isJson(text: string): boolean {
  try {
    return text !== '' && objects(text).length > 0;
  } catch {
    return false;
  }
}

test('prints JSON and nothing else, for every command', async () => {
  const names = catalogue.map(({ name }) => name);
  expect(Object.keys(LINES)).toEqual(expect.arrayContaining(names));
  for (const [name, value] of Object.entries({ job, bad, jobs: [job, job] })) {
    writeFileSync(file(`${name}.json`), JSON.stringify(value));
  }
  const node = start('up', '--data', 'data', '--node-id', 'here', ...ANY_PORT);
  const [, url = ''] = await node.line(/^millrace ready (\S+)$/, LIMIT_MS);
  const first = async (...line: string[]): Promise<string> =>
    String(objects(await output([...line, '--server', url]))[0]?.['id']);
  const id = await first('submit', file('job.json'), '--wait');
  const dead = await first('submit', file('bad.json'), '--wait');
  await output(['sql', 'select 1', '--server', url]);
  const [listed] = objects(await output(['queries', '--server', url]));
  const queries = (listed?.['queries'] ?? []) as readonly { readonly id: string }[];
  const query = String(queries[0]?.id);
  const strange: string[] = [];
  // In the order of the table: some need what others have left.
  for (const [name, linesOf] of Object.entries(LINES)) {
    for (const line of names.includes(name) ? linesOf({ url, id, dead, query }) : []) {
      const text = await output(line);
      const isSilent = text === '' && MAY_BE_SILENT.has(name);
      if (!isSilent && !isJson(text)) strange.push(`${line.join(' ')} printed:\n${text}`);
    }
  }
  expect(strange).toEqual([]);
  expect(readFileSync(file('x.ndjson'), 'utf8')).not.toBe('');
  expect(await node.stop()).toEqual({ code: 0, signal: null });
}, 300_000);
