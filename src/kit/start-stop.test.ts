import { expect, test } from 'vitest';
import { deferred } from './deferred.ts';
import { startStop } from './start-stop.ts';

/** A thing that writes down what happens to it. */
function recorded(hooks: { start?: () => Promise<void>; stop?: () => Promise<void> } = {}) {
  const log: string[] = [];
  const signals: AbortSignal[] = [];
  const thing = startStop({
    async start(signal) {
      signals.push(signal);
      log.push('start');
      await hooks.start?.();
    },
    async stop() {
      log.push('stop');
      await hooks.stop?.();
    },
  });
  return { thing, log, signals };
}

test('starting and stopping twice is the same as once', async () => {
  const { thing, log } = recorded();
  await Promise.all([thing.start(), thing.start()]);
  expect(thing.running).toBe(true);
  await Promise.all([thing.stop(), thing.stop()]);
  await thing.stop();
  expect(thing.running).toBe(false);
  expect(log).toEqual(['start', 'stop']);
});

test('stopping what never started does nothing', async () => {
  const { thing, log } = recorded();
  await thing.stop();
  expect(log).toEqual([]);
});

test('it can be started again, with a signal of its own', async () => {
  const { thing, log, signals } = recorded();
  await thing.start();
  await thing.stop();
  await thing.start();
  expect(log).toEqual(['start', 'stop', 'start']);
  expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
});

test('of overlapping calls the last one decides', async () => {
  const { thing, log } = recorded();
  await Promise.all([thing.start(), thing.stop(), thing.start()]);
  expect(thing.running).toBe(true);
  expect(log).toEqual(['start', 'stop', 'start']);
});

test('a stop aborts a start in progress, then waits for it', async () => {
  const gate = deferred();
  const { thing, log, signals } = recorded({ start: () => gate.promise });
  const starting = thing.start();
  await Promise.resolve();
  const stopping = thing.stop();
  expect(signals[0]!.aborted).toBe(true);
  expect(log).toEqual(['start']);
  gate.resolve();
  await Promise.all([starting, stopping]);
  expect(log).toEqual(['start', 'stop']);
});

test('a failed start rejects, leaves it stopped and can be tried again', async () => {
  let attempts = 0;
  const { thing, log } = recorded({
    start: async () => {
      attempts += 1;
      if (attempts === 1) throw new Error('port taken');
    },
  });
  await expect(thing.start()).rejects.toThrow('port taken');
  expect(thing.running).toBe(false);
  await thing.stop();
  await thing.start();
  expect(thing.running).toBe(true);
  expect(log).toEqual(['start', 'start']);
});

test('a failed stop rejects and counts as stopped', async () => {
  const { thing } = recorded({ stop: () => Promise.reject(new Error('stuck')) });
  await thing.start();
  await expect(thing.stop()).rejects.toThrow('stuck');
  expect(thing.running).toBe(false);
  await thing.stop();
});
