import { expect, test } from 'vitest';
import { processLog } from './process-log.ts';

const now = (): string => '2026-11-16T00:00:00.000Z';

test('JSON has one object per line, with level, fields and common fields', () => {
  const lines: string[] = [];
  const write = (text: string): void => void lines.push(text);
  const say = processLog({
    format: 'json',
    level: 'info',
    now,
    write,
    about: { node: 'n', pid: 1 },
  });
  say('two\nlines', 'warn', { rows: 2 });
  say('plain');
  say('not shown', 'debug');
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  say('loop', 'error', loop);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { at: now(), level: 'warn', message: 'two\nlines', node: 'n', pid: 1, fields: { rows: 2 } },
    { at: now(), level: 'info', message: 'plain', node: 'n', pid: 1 },
    { at: now(), level: 'error', message: 'loop', node: 'n', pid: 1 },
  ]);
  expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true);
});

test('text shows time and severity, and no control characters', () => {
  const lines: string[] = [];
  const write = (text: string): void => void lines.push(text);
  const say = processLog({ format: 'text', level: 'debug', now, write });
  say('ready');
  say('\u001B[2Jgone', 'error');
  say('read', 'info', { rows: 2 });
  expect(lines).toEqual([
    `${now()} ready\n`,
    `${now()} error \uFFFD[2Jgone\n`,
    `${now()} read  {"rows":2}\n`,
  ]);
});
