/** Commands of `millrace` in tests, and what processes print. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { within } from './deadline.ts';
import type { TestProcess } from './process.ts';

const BIN = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));

/** Resolves with the line of stderr that matches; fails with the whole output. */
export function stderrLine(of: TestProcess, pattern: RegExp): Promise<RegExpExecArray> {
  const missing = (): string => `${pattern} in\n${of.output.text()}`;
  return within(60_000, of.output.line(pattern, 'stderr'), missing);
}

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command of `millrace` to its end. */
export function millrace(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...environment };
    execFile(process.execPath, [BIN, ...args], { env, timeout: 25_000 }, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, out, err });
    });
  });
}
