/** `millrace demo` as people see it: real processes, one of them killed, and nothing left of them. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { said, ended, start, temporaryFolder } from './demo-setup.ts';

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
