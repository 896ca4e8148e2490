/** An embedded runtime in real processes: what it loads, how it ends, and what is left when it is killed. */
import { existsSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { project } from './project.ts';

const LONG_MS = 60_000;

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 120_000 });

test('a process that is killed between two steps is followed by one that does the second', async () => {
  const { run } = project();
  const first = run('steps.ts');
  await first.line(/^first$/, LONG_MS);
  await first.crash();
  const second = run('steps.ts', 'finish');
  await second.line(/^result done$/, LONG_MS);
  expect(await second.exited).toEqual({ code: 0, signal: null });
  const said = second.output.lines.filter(({ from }) => from === 'stdout').map(({ text }) => text);
  // The step may not have been recorded yet when the process was killed.
  expect(said.filter((line) => line !== 'first')).toEqual([
    expect.stringMatching(/^ready /),
    'second',
    'result done',
  ]);
});

test.each(['SIGKILL', 'SIGINT'] as const)(
  'after %s in the middle of a handler another process goes on at once',
  async (signal) => {
    const { run } = project();
    const first = run('steps.ts', 'hang');
    await first.line(/^hangs$/, LONG_MS);
    first.kill(signal);
    expect(await first.exited).toEqual({ code: null, signal });
    const beganMs = performance.now();
    const second = run('steps.ts', 'finish');
    await second.line(/^result done$/, LONG_MS);
    // Far less than the time after which a silent node counts as gone.
    expect(performance.now() - beganMs).toBeLessThan(15_000);
    expect(await second.exited).toEqual({ code: 0, signal: null });
    const said = second.output.lines.map(({ text }) => text);
    expect(said).not.toContain('first');
  },
);

test('importing millrace loads neither gRPC nor a database, and no entry point loads a database', async () => {
  const { run } = project();
  const heavy = async (entry: string): Promise<readonly string[]> => {
    const [, loaded = ''] = await run('loading.ts', entry).line(/^loaded ?(.*)$/, LONG_MS);
    if (entry === 'millrace') expect(loaded).toMatch(/\buuidv7\b/);
    return loaded.split(' ').filter((name) => /grpc|protobuf|duckdb|postgres|yaml/.test(name));
  };
  expect(await heavy('millrace')).toEqual([]);
  expect(await heavy('millrace/testing')).toEqual([]);
  expect(await heavy('millrace/worker')).not.toContain('@grpc/grpc-js');
  // A database is loaded when it is opened, and one of them only.
  for (const entry of ['millrace/worker', 'millrace/server']) {
    expect(await heavy(entry)).not.toContain('@duckdb/node-api');
    expect(await heavy(entry)).not.toContain('postgres');
  }
});

test('a program that ends itself without closing keeps its exit code and its data', async () => {
  const { run, file } = project();
  const first = run('steps.ts', 'exit');
  expect(await first.exited).toEqual({ code: 7, signal: null });
  expect(existsSync(file('.millrace/millrace.duckdb'))).toBe(true);
  const second = run('steps.ts', 'finish');
  await second.line(/^result done$/, LONG_MS);
});

test('a folder that another process uses is refused with what to do', async () => {
  const { run } = project();
  const first = run('steps.ts');
  await first.line(/^ready /, LONG_MS);
  const second = run('steps.ts');
  expect((await second.exited).code).toBe(1);
  expect(second.output.text()).toContain(`is already in use by the process ${first.pid}`);
  expect(second.output.text()).toContain("connect('http://127.0.0.1:7070')");
});

test('a folder that another thread of the process uses is refused, and its runtime goes on', async () => {
  const { run } = project();
  const both = run('threads.ts');
  await both.line(/^thread: store_locked .* is already in use by this process\./, LONG_MS);
  await both.line(/^result done$/, LONG_MS);
  expect(await both.exited).toEqual({ code: 0, signal: null });
});
