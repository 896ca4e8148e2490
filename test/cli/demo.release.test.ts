/** `millrace demo` as people see it: real processes, one of them killed, and nothing left of them. */
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { within } from '../rig/cluster/deadline.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { until } from '../rig/until.ts';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';

const LIMIT_MS = 90_000;

const said = ({ output }: TestProcess, from: 'stdout' | 'stderr'): string =>
  output.lines
    .filter((line) => line.from === from)
    .map(({ text }) => text)
    .join('\n');

vi.setConfig({ testTimeout: 120_000 });

/** Whatever the demo makes, it makes here. The name is one that DuckDB would take for a pattern. */
let temporary: string;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-demos-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  temporary = join(folder, "it's [a] folder");
  mkdirSync(temporary);
});

const temporaryFolder = (): string => temporary;

function start(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  return TestProcess.start(['demo', ...args], {
    environment: { TMPDIR: temporary, ...environment },
  });
}

/** Process ids of the demo's workers, which get their folder as an argument. */
function workersAlive(): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return (
        /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(temporary)
      );
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}

const demoFolders = (): string[] =>
  readdirSync(temporary).filter((name) => name.startsWith('millrace-demo-'));

async function ended(demo: TestProcess) {
  const exit = await within(LIMIT_MS, demo.exited, () => demo.output.text());
  expect(workersAlive()).toEqual([]);
  expect(demoFolders()).toEqual([]);
  return exit;
}

const ROWS = 20_000;

interface Summary {
  readonly workers: readonly { readonly id: string; readonly pid: number }[];
  readonly kill: {
    readonly worker: string;
    readonly pid: number;
    readonly held: readonly string[];
    readonly recovery: { readonly worker: string; readonly pid: number; readonly ms: number };
  };
  readonly checks: Readonly<Record<string, boolean>>;
  readonly answer: { readonly report: { readonly sales: number; readonly euroCents: number } };
  readonly expected: unknown;
}

test('a worker is killed between two steps, another goes on, and the answer is right', async () => {
  // Settings of a cluster of the user's own are not those of the demo.
  const demo = start(['--rows', `${ROWS}`, '--json'], {
    MILLRACE_DATABASE: 'postgres://nobody@127.0.0.1:1/nowhere',
    MILLRACE_SLOTS: '0',
  });
  expect(await ended(demo)).toEqual({ code: 0, signal: null });
  const summary = JSON.parse(said(demo, 'stdout')) as Summary;
  expect(summary).toMatchObject({
    isRight: true,
    job: { state: 'succeeded', tasks: 13 },
    kill: { endedBy: 'SIGKILL' },
    steps: { charge: 1, ship: 1 },
    files: 8,
    answer: { order: { receipt: 'receipt-A-7-1', parcel: 'parcel-A-7-1' } },
  });
  const { workers, kill, checks, answer, expected } = summary;
  expect(Object.values(checks)).toEqual(Array.from({ length: 8 }, () => true));
  expect(workers.map(({ id }) => id)).toEqual(['w-1', 'w-2', 'w-3']);
  expect(workers).toContainEqual({ id: kill.worker, pid: kill.pid });
  expect(workers).toContainEqual({ id: kill.recovery.worker, pid: kill.recovery.pid });
  expect(kill.recovery.worker).not.toBe(kill.worker);
  expect(kill.held).toContain('order');
  expect(kill.recovery.ms).toBeGreaterThanOrEqual(0);
  expect(answer.report).toMatchObject({ sales: 8 * ROWS });
  expect(answer.report).toEqual(expected);

  const story = said(demo, 'stderr');
  expect(story).toContain(`--- kill -9 ${kill.pid}: ${kill.worker}`);
  expect(story).toContain(
    `--- ${kill.recovery.ms} ms later ${kill.recovery.worker} resumes packing`,
  );
  expect(story).toMatch(/ reassigned +order {2}on /);
  expect(story).toMatch(/completed +report /);
  expect(story).toContain('npx millrace up');
});

test('a missing folder is reported in a sentence', async () => {
  const demo = start([], { TMPDIR: join(temporaryFolder(), 'nowhere') });
  expect(await ended(demo)).toEqual({ code: 2, signal: null });
  expect(said(demo, 'stderr')).toMatch(
    /Cannot write the files of the demo to .*nowhere: it does not exist/,
  );
});

/** So many that it is not over before it is interrupted. */
const MANY_ROWS = 2_000_000;

const heard = (demo: TestProcess, pattern: RegExp, from: 'stdout' | 'stderr') =>
  within(LIMIT_MS, demo.output.line(pattern, from), () => demo.output.text());

test.each([
  ['SIGINT', 'stdout', /^Millrace/],
  ['SIGTERM', 'stderr', /Starting a node/],
  ['SIGINT', 'stdout', /^A shop counts/],
  ['SIGINT', 'stdout', /^--- kill -9/],
] as const)('one %s after a line on %s like %s ends it, and nothing stays', async (...given) => {
  const [signal, from, line] = given;
  const demo = start(['--rows', `${MANY_ROWS}`]);
  await heard(demo, line, from);
  demo.kill(signal);
  expect(await ended(demo)).toEqual({ code: 130, signal: null });
  expect(said(demo, 'stderr')).toMatch(/^All processes have ended and all files were removed\.$/m);
});

test('a second Ctrl-C ends it on the spot, and nothing stays', async () => {
  const demo = start(['--rows', `${MANY_ROWS}`]);
  await heard(demo, /^A shop counts/, 'stdout');
  demo.kill('SIGINT');
  await heard(demo, /^Interrupted/, 'stderr');
  demo.kill('SIGINT');
  const exit = await within(LIMIT_MS, demo.exited, () => demo.output.text());
  expect(exit).toEqual({ code: 130, signal: null });
  // They were killed, not waited for.
  await until(() => Promise.resolve(workersAlive().length === 0), 'workers are left', LIMIT_MS);
  expect(demoFolders()).toEqual([]);
});

test('workers do not outlive a demo that was killed', async () => {
  const demo = start(['--rows', `${MANY_ROWS}`]);
  await heard(demo, /^A shop counts/, 'stdout');
  expect(workersAlive().length).toBeGreaterThan(0);
  demo.kill('SIGKILL', 'process');
  await demo.exited;
  await until(() => Promise.resolve(workersAlive().length === 0), 'workers are left', LIMIT_MS);
});
