import { beforeEach, expect, test } from 'vitest';
import { SecretRedactor, VirtualClock, deferred, settled } from '../../kit/index.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { TaskLogLine } from '../../scheduler/contract/index.ts';
import type { Attempt } from './attempt.ts';
import { LogSender } from './log-sender.ts';
import { taskLog } from './task-log.ts';

let clock: VirtualClock;
let sent: (readonly TaskLogLine[])[];
let answer: () => Promise<void>;
let sender: LogSender;

beforeEach(() => {
  clock = new VirtualClock();
  sent = [];
  answer = async () => {};
  sender = new LogSender({
    clock,
    random: () => 0.5,
    send: (lines) => {
      sent.push(lines);
      return answer();
    },
    redactor: new SecretRedactor(['known-secret']),
  });
});

const attempt = (taskId = 't'): Attempt =>
  ({ assignment: { jobId: 'j', taskId, attempt: 2 }, nowMs: 5 }) as unknown as Attempt;

const messages = (): string[] => sent.flat().map(({ message }) => message);

test('lines are batched for a moment, and sent at once when an attempt ends', async () => {
  const one = attempt();
  sender.add(one, 'info', 'a', { rows: 3 });
  sender.add(one, 'warn', 'b');
  await settled();
  expect(sent).toEqual([]);
  sender.hurry();
  await settled();
  const about = { jobId: 'j', taskId: 't', attempt: 2, at: 5 };
  expect(sent).toEqual([
    [
      { ...about, level: 'info', message: 'a', fields: '{"rows":3}' },
      { ...about, level: 'warn', message: 'b', fields: null },
    ],
  ]);
});

test('lines that could not be sent are sent again, in order, with what came meanwhile', async () => {
  answer = () => Promise.reject(new MillraceError({ code: 'not_leader', what: 'Not here.' }));
  sender.add(attempt(), 'info', 'a');
  sender.hurry();
  await settled();
  sender.add(attempt(), 'info', 'b');
  answer = async () => {};
  await clock.advance(10_000);
  await settled();
  expect(sent.at(-1)?.map(({ message }) => message)).toEqual(['a', 'b']);
});

test('secrets do not leave the worker', async () => {
  sender.add(attempt(), 'info', 'using known-secret', { token: 'abc', url: 'http://u:pw@h/' });
  sender.hurry();
  await settled();
  expect(JSON.stringify(sent)).not.toMatch(/known-secret|abc|pw@/);
});

test('the log of the worker itself shows no secrets either, also when no more of the attempt is kept', () => {
  const shown: unknown[] = [];
  const show = (message: string, fields?: unknown): void => void shown.push([message, fields]);
  const log = taskLog({ debug: show, info: show, warn: show, error: show }, sender, attempt());
  log.info('using known-secret', { token: 'abc', rows: 3 });
  for (let lines = 0; lines < 200; lines += 1) log.info('x'.repeat(8_000));
  log.warn('password=hunter2', undefined);
  expect(shown[0]).toEqual(['j/t: using [redacted]', { token: '[redacted]', rows: 3 }]);
  expect(shown.at(-1)).toEqual(['j/t: password=[redacted]', undefined]);
});

test('the lines of one attempt are limited, and the number of dropped ones is reported', async () => {
  const one = attempt();
  for (let no = 0; no < 100_000; no += 1) sender.add(one, 'info', `${no} ${'x'.repeat(200)}`);
  sender.hurry();
  for (let turn = 0; turn < 20; turn += 1) await settled();
  expect(sent.flat().length).toBeLessThan(6_000);
  expect(messages().at(-1)).toContain('further lines are dropped');
  expect(sent.every((lines) => lines.length <= 1_000)).toBe(true);
});

test('while nothing can be sent memory is bounded, and the number of dropped lines is reported', async () => {
  const held = deferred();
  answer = () => held.promise;
  for (let no = 0; no < 25_000; no += 1) sender.add(attempt(`t${no % 50}`), 'info', 'x');
  sender.hurry();
  await settled();
  held.resolve();
  for (let turn = 0; turn < 60; turn += 1) await settled();
  expect(sent.flat().length).toBeLessThanOrEqual(20_001);
  expect(messages().at(-1)).toBe(
    '5000 log lines of this worker were dropped: they could not be sent in time.',
  );
});

test('fields that are not JSON do not fail the handler', async () => {
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  sender.add(attempt(), 'info', 'a', loop);
  sender.add(attempt(), 'info', 'b', 10n);
  sender.hurry();
  await settled();
  expect(sent.flat().map(({ fields }) => fields)).toEqual([null, null]);
});
