import { getEventListeners } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../../../test/rig/until.ts';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { Reply } from '../../command.ts';
import { exit, type ExitCode } from '../../exit.ts';
import { aborted } from '../../interruption.ts';
import type { Terminal } from '../../view/terminal.ts';
import { Shell, type ShellMode } from './shell.ts';

interface Ran {
  readonly sql: string;
  readonly mode: ShellMode;
}

const bad = new MillraceError({ code: 'bad_query', what: 'No such \u001B[2J column.' });

/** `fail` is refused, `wait` runs until it is cancelled. */
function scene(isTerminal: boolean) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-shell-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const input = new PassThrough();
  const ran: Ran[] = [];
  let screen = '';
  const terminal: Terminal = {
    ...{ columns: 80, rows: 24, hasColour: false, isUnicode: true },
    write: (text) => void (screen += text),
    onResize: () => () => {},
  };
  const reply: Reply = {
    ...{ say: () => {}, answer: () => {}, input: null, page: null, terminal: null },
    note: (line) => void (screen += `${line}\n`),
    write: () => Promise.resolve(),
    printThrough: () => () => {},
  };
  const run = async (sql: string, mode: ShellMode, signal: AbortSignal): Promise<ExitCode> => {
    ran.push({ sql, mode });
    if (sql === 'fail') throw bad;
    if (sql !== 'wait') return exit.done;
    await aborted(signal);
    return exit.interrupted;
  };
  const control = new AbortController();
  const history = join(folder, 'millrace', 'sql_history');
  const ended = new Shell({
    ...{ input, reply, run, history, signal: control.signal },
    terminal: isTerminal ? terminal : null,
  }).run();
  return {
    ...{ input, ran, ended, control },
    sqls: () => ran.map(({ sql }) => sql),
    screen: () => screen,
    history: () => readFileSync(history, 'utf8'),
    shows: (text: string) => until(() => Promise.resolve(screen.includes(text)), text),
    has: (count: number) =>
      until(() => Promise.resolve(ran.length === count), `${count} statements`),
  };
}

test('a pipe is run to its end, also without the last semicolon', async () => {
  const { input, ended, sqls } = scene(false);
  input.end('select 1; select\n2;\n\\d\nselect 3');
  expect(await ended).toBe(exit.done);
  expect(sqls()).toEqual(['select 1', 'select\n2', 'SHOW TABLES', 'select 3']);
});

test('an error ends a pipe with its code, and what follows is not run', async () => {
  const { input, ended, sqls, screen } = scene(false);
  input.end('fail; select 1;');
  expect(await ended).toBe(exit.wrongUse);
  expect(sqls()).toEqual(['fail']);
  expect(screen()).toBe('millrace: No such \uFFFD[2J column.\n');
});

test('a signal cancels the statement of a pipe and ends it with 130', async () => {
  const { input, ended, has, control, sqls } = scene(false);
  input.end('wait; select 1;');
  await has(1);
  control.abort();
  expect(await ended).toBe(exit.interrupted);
  expect(sqls()).toEqual(['wait']);
});

test('in a terminal an error is reported and the shell continues', async () => {
  const { input, ended, has, shows } = scene(true);
  await shows('millrace> ');
  input.write('fail;\r');
  await shows('No such \uFFFD[2J column.');
  input.write('select\r');
  await shows('      -> ');
  input.write('1;\r');
  await has(2);
  input.write('\u0004');
  expect(await ended).toBe(exit.done);
});

test('Ctrl-C cancels the query, and a line that is typed, but never the shell', async () => {
  const { input, ended, has, sqls, shows } = scene(true);
  await shows('millrace> ');
  input.write('wait;\r');
  await has(1);
  input.write('\u0003');
  input.write('select oops');
  await shows('select oops');
  input.write('\u0003');
  await shows('^C');
  input.write('select 2;\r');
  await has(2);
  input.write('\u0004');
  expect(await ended).toBe(exit.done);
  expect(sqls()).toEqual(['wait', 'select 2']);
});

test('the modes last, and the history is kept', async () => {
  const { input, ended, has, ran, history, shows } = scene(true);
  await shows('millrace> ');
  input.write('\\x\r\\timing\rselect\r1;\r');
  await has(1);
  expect(ran[0]?.mode).toEqual({ isTimed: false, isExpanded: true });
  input.write('\\q\r');
  expect(await ended).toBe(exit.done);
  expect(history()).toBe('\\x\n\\timing\nselect 1;\n\\q\n');
});

test('a shell listens for its end once, however many lines are typed', async () => {
  const shell = scene(true);
  for (let no = 1; no <= 12; no += 1) {
    shell.input.write(`select ${no};\n`);
    await shell.has(no);
  }
  expect(getEventListeners(shell.control.signal, 'abort').length).toBeLessThan(4);
  shell.input.end();
  await expect(shell.ended).resolves.toBe(exit.done);
});
