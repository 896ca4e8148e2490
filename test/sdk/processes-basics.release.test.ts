/** An embedded runtime in real processes: what it loads, how it ends, and what is left when it is killed. */
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
