/** `millrace sql` as people use it: real processes, to their end or to Ctrl-C, and nothing left of them. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { HttpClient } from '../src/client/http/index.ts';
import { within } from './rig/cluster/deadline.ts';
import { TestProcess } from './rig/cluster/process.ts';
import { until } from './cluster/scene.ts';

vi.setConfig({ testTimeout: 120_000 });

const LIMIT_MS = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'millrace-sqls-'));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
/** Whatever a command makes, it makes here. */
const temporary = join(folder, 'tmp');
mkdirSync(temporary);

const start = (...args: readonly string[]) =>
  TestProcess.start(args, { environment: { TMPDIR: temporary }, folder });

const said = ({ output }: TestProcess, from: 'stdout' | 'stderr'): string =>
  output.lines
    .filter((line) => line.from === from)
    .map(({ text }) => text)
    .join('\n');

/** Ids of processes that were started here, however deep down. */
function alive(): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return (
        /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, 'utf8').includes(temporary)
      );
    } catch {
      // It has ended meanwhile, or is somebody else's.
      return false;
    }
  });
}

async function ended(command: TestProcess) {
  const exit = await within(LIMIT_MS, command.exited, () => command.output.text());
  // A worker that is cut off leaves its token, which nobody else can read, to be swept by the next process.
  expect(readdirSync(temporary).filter((name) => !name.startsWith('millrace-local-'))).toEqual([]);
  await until(async () => alive().length === 0, 'nothing of the command is alive');
  return exit;
}

const SALES =
  "select i as id, ['cup', 'pot', 'tea'][1 + i % 3] as item, i % 7 as cents from range(3000) as t(i)";
const ITEMS = 'select item, count(*) as sold from sales group by item order by item';

test('rows go to a file, and are counted by two workers of which nothing stays', async () => {
  const write = start('sql', SALES, '--output', 'sales.parquet');
  expect(await ended(write)).toEqual({ code: 0, signal: null });
  expect(said(write, 'stderr')).toMatch(/^3,000 rows to sales.parquet in \S+\.$/);
  expect(statSync(join(folder, 'sales.parquet')).size).toBeGreaterThan(1_000);

  const divided = ['shufflePartitions=3', 'singleFragmentBytes=0', 'broadcastThresholdBytes=0'];
  const settings = divided.flatMap((each) => ['--set', each]);
  const flags = ['--table', 'sales=sal*.parquet', '--workers', '2', ...settings];
  const count = start('sql', ITEMS, ...flags);
  expect(await ended(count)).toEqual({ code: 0, signal: null });
  expect(said(count, 'stdout').split('\n').slice(4, -1)).toEqual([
    '│ cup     │   1000 │',
    '│ pot     │   1000 │',
    '│ tea     │   1000 │',
  ]);
  expect(said(count, 'stderr')).toMatch(/^3 rows in .* \(3 stages, 7 tasks\)\.$/);
});

test('at a server, wrong SQL is shown where it is wrong, and Ctrl-C cancels the query', async () => {
  const node = start('up', '--data', 'data', '--port', '0', '--grpc-port', '0', '--slots', '1');
  const [, url = ''] = await node.line(/^millrace ready (\S+)$/, LIMIT_MS);
  const wrong = start('sql', 'select itme\nfrom (select 1 as item)', '--json', '--server', url);
  expect(await within(LIMIT_MS, wrong.exited, () => wrong.output.text())).toMatchObject({
    code: 2,
  });
  expect(said(wrong, 'stderr')).toContain('select itme\n       ^');
  expect(JSON.parse(said(wrong, 'stdout'))).toMatchObject({ error: { code: 'bad_query' } });

  const { queries, close } = client(url);
  onTestFinished(close);
  const endless =
    'select count(*) from range(10000000) a, range(10000000) b where a.range < b.range';
  const command = start('sql', endless, '--server', url);
  const isRunning = async (): Promise<boolean> =>
    (await queries.list({ state: 'running' })).queries.length === 1;
  await until(isRunning, 'the query runs');
  command.kill('SIGINT', 'process');
  expect(await within(LIMIT_MS, command.exited, () => command.output.text())).toEqual({
    code: 130,
    signal: null,
  });
  const { queries: all } = await queries.list();
  expect(all.map(({ state }) => state)).toEqual(['cancelled']);
  expect(await node.stop()).toEqual({ code: 0, signal: null });
  await until(async () => alive().length === 0, 'nothing of the node is alive');
});

function client(server: string) {
  const http = new HttpClient({ server });
  return { queries: http.queries, close: () => http.close() };
}
