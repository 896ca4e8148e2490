/** The built-in executors of a worker. */
import type { Clock } from '../../kit/index.ts';
import { aggregateExecutor } from './aggregate.ts';
import type { Executor } from './executor.ts';
import { isRefusedAddress } from './http/address.ts';
import { httpExecutor } from './http/http.ts';
import { mapExecutor } from './map.ts';
import { commandExecutor } from './process/command.ts';
import { containerExecutor } from './process/container.ts';
import { sleepExecutor } from './sleep.ts';

export interface BuiltInOptions {
  /** `http` may call hosts that are not public. */
  readonly allowPrivateHttp?: boolean;
  /** What `command` may run: names and absolute paths. Without any there is no `command`. */
  readonly allowCommand?: readonly string[];
  /** Variables that a task may set for `command`: names, or beginnings with `*`. */
  readonly allowEnv?: readonly string[];
  /** The command line that `container` uses. Without it there is no `container`. */
  readonly allowContainer?: string | undefined;
  /** Folders below which a container may be given files. */
  readonly roots?: readonly string[];
  /** How long the worker waits for a handler that was asked to stop. */
  readonly abortGraceMs?: number;
}

/** A process gets this long to end by itself, and less where the worker itself waits for less. */
const KILL_GRACE_MS = 5_000;

export function builtIns(clock: Clock, options: BuiltInOptions = {}): readonly Executor[] {
  const { allowPrivateHttp = false, allowCommand = [], allowEnv = [] } = options;
  const { allowContainer, roots = [] } = options;
  const killGraceMs = graceWithin(options.abortGraceMs);
  return [
    echo,
    sleepExecutor(clock),
    httpExecutor(clock, { isRefused: allowPrivateHttp ? () => false : isRefusedAddress }),
    aggregateExecutor,
    mapExecutor,
    ...(allowCommand.length === 0
      ? []
      : [commandExecutor(clock, { allowed: allowCommand, allowedEnv: allowEnv, killGraceMs })]),
    ...(allowContainer === undefined
      ? []
      : [containerExecutor(clock, { cli: allowContainer, roots, killGraceMs })]),
  ];
}

/** Half of the worker's retry budget: the other half is for what comes after the kill. */
export function graceWithin(abortGraceMs: number = Number.POSITIVE_INFINITY): number {
  return Math.min(KILL_GRACE_MS, abortGraceMs / 2);
}

const echo: Executor = { name: 'echo', run: (input) => input };
