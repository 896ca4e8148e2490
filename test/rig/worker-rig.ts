/** A worker on a virtual clock, with its heartbeat beside it and handlers that the test holds in hand. */
import type { MillraceError, NodeId, SessionId } from '../../src/scheduler/core/index.ts';
import { ExecutorRegistry, builtIns } from '../../src/tasks/executors/index.ts';
import type { Executor, TaskContext, TaskLog } from '../../src/tasks/executors/index.ts';
import { deferred } from '../../src/kit/index.ts';
import type { Deferred } from '../../src/kit/index.ts';
import { ownHandshake } from '../../src/scheduler/contract/index.ts';
import type { WorkerService } from '../../src/scheduler/contract/index.ts';
import { VirtualClock, settled } from './virtual-clock.ts';
import { HeartbeatLoop, Worker } from '../../src/node/worker/index.ts';
import type { WorkerOptions } from '../../src/node/worker/index.ts';

/** A handler that waits for the test: it ends as the test says, or when it is aborted. */
export class Gate implements Executor {
  readonly name: string;
  readonly calls: { readonly context: TaskContext; readonly end: Deferred<unknown> }[] = [];
  readonly #heedsAbort: boolean;

  constructor(name: string, heedsAbort = true) {
    this.name = name;
    this.#heedsAbort = heedsAbort;
  }

  run(_input: unknown, context: TaskContext): Promise<unknown> {
    const end = deferred<unknown>();
    this.calls.push({ context, end });
    const { signal } = context;
    if (this.#heedsAbort) signal.addEventListener('abort', () => end.reject(signal.reason));
    return end.promise;
  }

  get signals(): readonly AbortSignal[] {
    return this.calls.map(({ context }) => context.signal);
  }
}

export interface Rig {
  readonly worker: Worker;
  readonly clock: VirtualClock;
  readonly stuck: MillraceError[];
  readonly lines: string[];
}

export interface RigOptions extends Partial<WorkerOptions> {
  readonly leader: WorkerService;
  readonly tasks?: readonly Executor[];
  readonly virtual?: VirtualClock;
}

export function rig(given: RigOptions): Rig {
  const { leader, tasks = [], virtual: clock = new VirtualClock(), ...options } = given;
  const stuck: MillraceError[] = [];
  const lines: string[] = [];
  const executors = new ExecutorRegistry();
  for (const executor of [...builtIns(clock), ...tasks]) executors.add(executor, 'the test');
  let sessions = 0;
  const worker = new Worker({
    nodeId: 'w' as NodeId,
    slots: 2,
    prefetch: 2,
    executors,
    capabilities: {},
    address: null,
    handshake: ownHandshake(),
    leader,
    clock,
    random: () => 0.5,
    newSessionId: () => {
      sessions += 1;
      return `s${sessions}` as SessionId;
    },
    startHeartbeat: (start, tell) =>
      new HeartbeatLoop({ leader, clock, random: () => 0.5, start, tell, onStuck: unexpected }),
    log: logTo(lines),
    onStuck: (error) => stuck.push(error),
    ...options,
  });
  return { worker, clock, stuck, lines };
}

function unexpected(why: string): never {
  throw new Error(`nothing blocks here: ${why}`);
}

function logTo(lines: string[]): TaskLog {
  const add = (message: string): void => void lines.push(message);
  return { debug: add, info: add, warn: add, error: add };
}

/** Every report that could leave has left, and its answer was taken in: each takes turns of the loop. */
export async function calm(): Promise<void> {
  for (let turns = 0; turns < 6; turns += 1) await settled();
}
