import { expect, test } from 'vitest';
import { NO_JOBS } from '../../scheduler/store/index.ts';
import { JobCounter } from './job-counter.ts';

function counter({ newest = 100, tookMs = 1 } = {}) {
  let [nowMs, seq, walks] = [0, 1, 0];
  const jobs = new JobCounter({
    newest,
    nowMs: () => nowMs,
    count: async () => {
      walks += 1;
      nowMs += tookMs;
      return { asOf: { seq, at: new Date(0) }, value: { ...NO_JOBS, succeeded: 60 } };
    },
  });
  return {
    jobs,
    walks: () => walks,
    pass: (ms: number) => (nowMs += ms),
    happen: () => (seq += 1),
    read: () => jobs.read(seq),
  };
}

test('concurrent callers share one count', async () => {
  const { read, walks } = counter();
  const [first, second] = await Promise.all([read(), read()]);
  expect(first).toBe(second);
  expect(first.value).toEqual({ counts: { ...NO_JOBS, succeeded: 60 }, isWhole: true });
  expect(walks()).toBe(1);
});

test('says that there may be more than were counted', async () => {
  const { value } = await counter({ newest: 60 }).read();
  expect(value.isWhole).toBe(false);
});

test('counts again after a second when something has happened, and after a minute otherwise', async () => {
  const { read, walks, pass, happen } = counter();
  await read();
  happen();
  pass(999);
  await read();
  expect(walks()).toBe(1);
  pass(1);
  await read();
  expect(walks()).toBe(2);
  pass(59_000);
  await read();
  expect(walks()).toBe(2);
  pass(1_000);
  await read();
  expect(walks()).toBe(3);
});

test('an expensive count is cached for longer', async () => {
  const { read, walks, pass, happen } = counter({ tookMs: 500 });
  await read();
  happen();
  pass(9_999);
  await read();
  expect(walks()).toBe(1);
  pass(1);
  await read();
  expect(walks()).toBe(2);
});

test('a failed count is repeated by the next caller', async () => {
  let isDown = true;
  const jobs = new JobCounter({
    newest: 10,
    nowMs: () => 0,
    count: async () => {
      if (isDown) throw new Error('away');
      return { asOf: { seq: 1, at: new Date(0) }, value: NO_JOBS };
    },
  });
  await expect(jobs.read(1)).rejects.toThrow('away');
  isDown = false;
  expect((await jobs.read(1)).value.counts).toEqual(NO_JOBS);
});
