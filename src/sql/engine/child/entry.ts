/** The child process: opens DuckDB, runs the calls of its parent, and ends when the parent is gone. */
import { rmSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { version } from '@duckdb/node-api';
import { type EngineCall, type FromChild, type ToChild, WINDOW_PIECES } from '../messages.ts';
import type { InstanceSettings } from '../messages.ts';
import { CustomCode } from './custom-code.ts';
import { described } from './describe.ts';
import { faultOf } from './fault.ts';
import { runFragment } from './fragment.ts';
import { Instances } from './instances.ts';
import type { OperatorTools } from './operator.ts';
import { Planner } from './plan.ts';
import { sendRows } from './rows.ts';
import { emptyFolder } from './sandbox.ts';
import { Failed, Work } from './work.ts';
import { compileEarly, keepFilesPrivate } from '../../../kit/index.ts';

interface Running {
  readonly work: Work;
  /** How many pieces may be sent; the reader grants more as it takes them. */
  room: number;
  wake: () => void;
}

interface Opened {
  readonly settings: InstanceSettings;
  readonly instances: Instances;
  readonly planner: Planner;
  readonly custom: CustomCode | null;
}

const REPORT_MS = 50;

const running = new Map<number, Running>();
let opened: Promise<Opened> | null = null;
let folders: readonly string[] = [];

function tell(message: FromChild): void {
  // If the parent is gone, this process is about to end as well.
  if (process.connected) process.send?.(message, () => {});
}

async function open(settings: InstanceSettings): Promise<Opened> {
  folders = [settings.spillFolder, settings.folder];
  emptyFolder(settings.folder);
  const custom = settings.custom === undefined ? null : await CustomCode.load(settings.custom);
  if (settings.custom !== undefined) yieldToOthers(settings.custom.niceness);
  const instances = new Instances(settings, custom);
  await instances.spare();
  tell({ kind: 'ready', duckdb: version() });
  return { settings, instances, planner: new Planner(instances, version()), custom };
}

function toolsFor(id: number, code: CustomCode | null): OperatorTools | null {
  if (code === null) return null;
  return { code, tell: (progress) => tell({ kind: 'progress', id, ...progress }) };
}

async function answer(id: number, call: EngineCall): Promise<void> {
  const mine: Running = { work: new Work(), room: WINDOW_PIECES, wake: () => {} };
  running.set(id, mine);
  try {
    if (opened === null) throw new Error('not open');
    const value = await done(call, await opened, mine, id);
    tell({ kind: 'done', id, value });
  } catch (error) {
    const fault = error instanceof Failed ? error.fault : faultOf(error, 'run');
    tell({ kind: 'failed', id, fault });
  } finally {
    running.delete(id);
    mine.work.end();
  }
}

function done(
  call: EngineCall,
  { settings, instances, planner, custom }: Opened,
  mine: Running,
  id: number,
): Promise<unknown> {
  switch (call.name) {
    case 'fragment':
      return runFragment(mine.work, instances, settings, call, toolsFor(id, custom));
    case 'describe':
      return described(mine.work, instances, call);
    case 'operators':
      return planner.operators(mine.work, call);
    case 'plan':
      return planner.plan(mine.work, call);
    case 'distribute':
      return planner.distribute(mine.work, call);
    case 'rows':
      return sendRows(mine.work, instances, call, (bytes) => send(id, mine, bytes));
  }
}

async function send(id: number, mine: Running, bytes: Uint8Array): Promise<void> {
  while (mine.room === 0) {
    mine.work.checkAborted();
    await new Promise<void>((resolve) => {
      mine.wake = resolve;
    });
  }
  mine.work.checkAborted();
  mine.room -= 1;
  tell({ kind: 'piece', id, bytes });
}

function heard(message: ToChild): void {
  switch (message.kind) {
    case 'open':
      opened = open(message.settings);
      opened.catch((error: unknown) =>
        tell({ kind: 'failed', id: null, fault: faultOf(error, 'run') }),
      );
      return;
    case 'call':
      void answer(message.id, message.call);
      return;
    case 'abort': {
      const mine = running.get(message.id);
      mine?.work.abort();
      mine?.wake();
      return;
    }
    case 'credit': {
      const mine = running.get(message.id);
      if (mine === undefined) return;
      mine.room += message.pieces;
      mine.wake();
      return;
    }
    case 'close':
      end();
  }
}

/** Does not wait: DuckDB may be in the middle of work that nobody wants any more. */
function end(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  // A regular exit would wait for DuckDB's threads, or crash them.
  if (running.size > 0) process.kill(process.pid, 'SIGKILL');
  process.exit(0);
}

/** If memory runs out, the kernel should kill this process rather than the one that holds the leases. */
function preferToBeKilled(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '500');
  } catch {
    // Another operating system, or one that does not allow it.
  }
}

/** Before DuckDB starts its threads, which inherit it. */
function yieldToOthers(niceness: number): void {
  try {
    setPriority(niceness);
  } catch {
    // Not every system allows that; then it competes like any other process.
  }
}

/** On Linux the parent reads it itself. */
function reportMemory(): void {
  if (process.platform === 'linux') return;
  const report = (): void => {
    if (running.size > 0) tell({ kind: 'memory', residentBytes: process.memoryUsage.rss() });
  };
  setInterval(report, REPORT_MS).unref();
}

compileEarly();
preferToBeKilled();
reportMemory();
// Its files are for the worker only.
keepFilesPrivate();
process.on('message', heard);
process.on('disconnect', end);
// Signals to the process group are for the parent, which may want to finish what runs here.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
