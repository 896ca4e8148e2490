/** The promise of the first five minutes: one file, typed, embedded, and on a cluster without a change. */
import { expect, test, vi } from 'vitest';
import { project } from './project.ts';

const SENT = /^A-1-1200: box of tea, box of cups \(A-1-1200\)$/;

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 120_000 });

test('a flow runs embedded in a program of its own, which then ends by itself', async () => {
  const running = project().run('embedded.ts');
  await running.line(SENT, 60_000);
  expect(await running.exited).toEqual({ code: 0, signal: null });
});
