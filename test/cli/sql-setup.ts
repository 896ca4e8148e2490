/** `millrace sql` as people use it: real processes, to their end or to Ctrl-C, and nothing left of them. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi, afterAll } from 'vitest';
import { within } from '../rig/cluster/deadline.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { until } from '../rig/until.ts';

export const LIMIT_MS = 60_000;
export const folder = mkdtempSync(join(tmpdir(), 'millrace-sqls-'));
/** Whatever a command makes, it makes here. */
const temporary = join(folder, 'tmp');

export const start = (...args: readonly string[]) =>
  TestProcess.start(args, { environment: { TMPDIR: temporary }, folder });

export const said = ({ output }: TestProcess, from: 'stdout' | 'stderr'): string =>
  output.lines
    .filter((line) => line.from === from)
    .map(({ text }) => text)
    .join('\n');

/** Ids of processes that were started here, however deep down. */
export function alive(): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return (
        /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, 'utf8').includes(temporary)
      );
    } catch {
      // It has ended meanwhile, or is somebody else's.
      return false;
    }
  });
}

export async function ended(command: TestProcess) {
  const exit = await within(LIMIT_MS, command.exited, () => command.output.text());
  // A worker that is cut off leaves its token, which nobody else can read, to be swept by the next process.
  expect(readdirSync(temporary).filter((name) => !name.startsWith('millrace-local-'))).toEqual([]);
  await until(async () => alive().length === 0, 'nothing of the command is alive');
  return exit;
}

vi.setConfig({ testTimeout: 120_000 });
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
mkdirSync(temporary);
