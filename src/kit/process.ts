import { fork } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

export interface ProcessOptions {
  /** The whole of it: nothing of this process's own environment is passed on. */
  readonly env: Readonly<Record<string, string>>;
  /** Of input, output, errors; the channel of messages is added. */
  readonly stdio: readonly ['ignore', 'ignore', 'ignore' | 'inherit' | 'pipe'];
}

/**
 * Starts a process from a module that lies beside the file that asks (`import.meta.url`), compiled or not. Flags
 * of this process (an inspector, a loader) do not reach it; where it is TypeScript, tsx is started there first.
 * `entry` has no extension. Messages are copied as for threads: dates, bytes and maps stay what they are.
 */
export function startProcess(
  beside: string,
  entry: string,
  { env, stdio }: ProcessOptions,
): ChildProcess {
  const isSource = beside.endsWith('.ts');
  const module = fileURLToPath(new URL(isSource ? `${entry}.ts` : `${entry}.js`, beside));
  const channels: StdioOptions = [...stdio, 'ipc'];
  return fork(module, [], {
    env: { ...env },
    execArgv: isSource ? ['--import', tsxFrom(beside)] : [],
    serialization: 'advanced',
    stdio: channels,
  });
}

function tsxFrom(beside: string): string {
  return pathToFileURL(createRequire(beside).resolve('tsx/esm')).href;
}
