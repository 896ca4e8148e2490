import { fork } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

export interface ProcessOptions {
  /** The whole of it: nothing of this process's own environment is passed on. */
  readonly env: Readonly<Record<string, string>>;
  /** Of input, output, errors, and more pipes; the channel of messages is added. */
  readonly stdio: readonly ['ignore', 'ignore', 'ignore' | 'inherit' | 'pipe', ...'pipe'[]];
  /** More private memory than this is not mapped for it (`RLIMIT_DATA`), where the system supports it. */
  readonly dataBytesMax?: number;
}

const SHELL = '/bin/sh';
/** The shell becomes the program: the process has one id from the start. */
const LIMITED = 'ulimit -d "$0" 2>/dev/null; exec "$@"';

/**
 * Starts a process from a module that lies beside the file that asks (`import.meta.url`), compiled or not. Flags
 * of this process (an inspector, a loader) do not reach it; where it is TypeScript, tsx is started there first.
 * `entry` has no extension. Messages are copied as for threads: dates, bytes and maps stay what they are.
 */
export function startProcess(
  beside: string,
  entry: string,
  { env, stdio, dataBytesMax }: ProcessOptions,
): ChildProcess {
  const isSource = beside.endsWith('.ts');
  const module = fileURLToPath(new URL(isSource ? `${entry}.ts` : `${entry}.js`, beside));
  const channels: StdioOptions = [...stdio, 'ipc'];
  const flags = isSource ? ['--import', tsxFrom(beside)] : [];
  const isLimited = dataBytesMax !== undefined && canLimit();
  const kib = String(Math.ceil((dataBytesMax ?? 0) / 1_024));
  return fork(module, [], {
    env: { ...env },
    ...(isLimited
      ? { execPath: SHELL, execArgv: ['-c', LIMITED, kib, process.execPath, ...flags] }
      : { execArgv: flags }),
    serialization: 'advanced',
    stdio: channels,
  });
}

/** Elsewhere the limit means something else, or a memory that is mapped in another way does not count. */
function canLimit(): boolean {
  return process.platform === 'linux' && existsSync(SHELL);
}

function tsxFrom(beside: string): string {
  return pathToFileURL(createRequire(beside).resolve('tsx/esm')).href;
}
