import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { EFFECTS_FILE, EffectsLog } from '../effects-log.ts';
import * as handlers from './fault-handlers.ts';
import type { FaultContext } from './fault-handlers.ts';

function effects(): EffectsLog {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-effects-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const log = new EffectsLog(join(folder, 'effects'));
  vi.stubEnv(EFFECTS_FILE, log.file);
  onTestFinished(() => void vi.unstubAllEnvs());
  return log;
}

function context(parts: Partial<FaultContext> = {}): FaultContext {
  return {
    signal: new AbortController().signal,
    jobId: 'j',
    taskId: 't',
    attempt: 1,
    fence: 3,
    idempotencyKey: 'k',
    progress: () => {},
    log: { info: () => {} },
    step: async (_, fn) => fn(),
    ...parts,
  };
}

const whats = (log: EffectsLog): string[] => log.all().map(({ what }) => what);
const signed = { attempt: 1, fence: 3 };

test('a note has a start, an end and a signature', async () => {
  const log = effects();
  expect(await handlers.noting.run({ value: 7 }, context())).toEqual({ signed, value: 7 });
  expect(log.all()).toEqual([
    { what: 'begin', job: 'j', task: 't', attempt: 1, fence: 3, pid: process.pid, key: 'k' },
    { what: 'end', job: 'j', task: 't', attempt: 1, fence: 3, pid: process.pid, key: 'k' },
  ]);
});

test('a hanging handler ends with its signal, and logs it', async () => {
  const log = effects();
  const controller = new AbortController();
  const running = handlers.hanging.run({}, context({ signal: controller.signal }));
  await log.wait({ what: 'begin' });
  controller.abort(new Error('lost'));
  await expect(running).rejects.toThrow('lost');
  expect(whats(log)).toEqual(['begin', 'aborted']);
});

test('an effect is there before the report, and waits for a file', async () => {
  const log = effects();
  const file = `${log.file}-go`;
  const running = Promise.all([
    handlers.effectThenWait.run({ file }, context()),
    handlers.stepThenWait.run({ file }, context()),
    handlers.waiting.run({ file }, context()),
    handlers.progressing.run({ file, ms: 1 }, context()),
  ]);
  expect(await log.wait({ what: 'effect' }, 2)).toHaveLength(2);
  expect(log.all({ what: 'end' })).toEqual([]);
  writeFileSync(file, '');
  expect(await running).toHaveLength(4);
});

test('a failure is over after a given number of times', async () => {
  const log = effects();
  await expect(handlers.failing.run({ times: 1 }, context())).rejects.toThrow('attempt 1 of 1');
  await handlers.failing.run({ times: 1 }, context({ attempt: 2 }));
  expect(whats(log)).toEqual(['begin', 'begin', 'end']);
});

test('a blocking handler and one that ignores its signal run to their end', async () => {
  effects();
  const startedAt = performance.now();
  await handlers.blocking.run({ ms: 30 }, context());
  await handlers.deaf.run({ ms: 30 }, context({ signal: AbortSignal.abort() }));
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(58);
});

test('a wait for what never happens shows what did', async () => {
  const log = effects();
  await handlers.noting.run(null, context());
  await expect(log.wait({ what: 'aborted' }, 1, 30)).rejects.toThrow(
    /Not within 30 ms: 1 effects.*"begin"/,
  );
});
