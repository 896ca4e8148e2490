/** `millrace demo` as people see it: real processes, one of them killed, and nothing left of them. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mkdtempSync, rmSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { vi, beforeEach, expect, onTestFinished } from 'vitest';
import { within } from '../rig/cluster/deadline.ts';
import { TestProcess } from '../rig/cluster/process.ts';

export const LIMIT_MS = 90_000;

export const said = ({ output }: TestProcess, from: 'stdout' | 'stderr'): string =>
  output.lines
    .filter((line) => line.from === from)
    .map(({ text }) => text)
    .join('\n');

vi.setConfig({ testTimeout: 120_000 });

/** Whatever the demo makes, it makes here. The name is one that DuckDB would take for a pattern. */
let temporary: string;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-demos-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  temporary = join(folder, "it's [a] folder");
  mkdirSync(temporary);
});

export const temporaryFolder = (): string => temporary;

export function start(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  return TestProcess.start(['demo', ...args], {
    environment: { TMPDIR: temporary, ...environment },
  });
}

/** Process ids of the demo's workers, which get their folder as an argument. */
export function workersAlive(): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return (
        /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(temporary)
      );
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}

export const demoFolders = (): string[] =>
  readdirSync(temporary).filter((name) => name.startsWith('millrace-demo-'));

export async function ended(demo: TestProcess) {
  const exit = await within(LIMIT_MS, demo.exited, () => demo.output.text());
  expect(workersAlive()).toEqual([]);
  expect(demoFolders()).toEqual([]);
  return exit;
}
