/** One child process from start to end: messages in both directions, and its last output if it dies. */
import type { ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { rm } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { PRIVATE_FOLDER, deferred, startProcess } from '../../../kit/index.ts';
import type { Deferred } from '../../../kit/index.ts';
import type { CodeHost } from '../engine.ts';
import type { FromChild, InstanceSettings, ToChild } from '../messages.ts';
import { serveHost } from './host-channel.ts';
import { dataBytesMax, residentBytes } from './memory-limit.ts';

export interface ChildEvents {
  /** The answer to a call, or a part of it. */
  readonly onMessage: (message: FromChild) => void;
  /** Called once, when the process has ended and no more messages will come. */
  readonly onGone: (how: string) => void;
}

/** The environment variables that the child gets: it must not see our secrets. */
const PASSED_ON = [
  'PATH',
  'HOME',
  'TMPDIR',
  'LANG',
  'LC_ALL',
  'LD_LIBRARY_PATH',
  'SystemRoot',
  'TEMP',
];
/** Set by tests that measure coverage. */
const COVERAGE = 'NODE_V8_COVERAGE';
/** So that readers of results that wait for the disk do not block each other. */
const POOL_THREADS = '16';
const STDERR_CHARACTERS = 2_000;
const CLOSE_MS = 2_000;

export class EngineChild {
  readonly #process: ChildProcess;
  readonly #settings: InstanceSettings;
  readonly #ready: Deferred<string> = deferred();
  readonly #gone: Deferred<void> = deferred();
  readonly #events: ChildEvents;
  readonly #host: CodeHost | null;
  readonly #channel: Socket | null;
  #stderr = '';
  #isGone = false;
  #killedFor: number | null = null;
  #reportedBytes = 0;
  #exceeded = false;

  /** `host` runs code of users in this process for the child. */
  constructor(settings: InstanceSettings, events: ChildEvents, niceness = 0, host?: CodeHost) {
    this.#settings = settings;
    this.#events = events;
    for (const folder of [settings.spillFolder, settings.folder]) {
      mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
    }
    this.#process = startProcess(import.meta.url, '../child/entry', {
      // The modules of users see what the worker sees.
      env: settings.custom === undefined ? environment() : ownEnvironment(),
      stdio: ['ignore', 'ignore', 'pipe', ...(host === undefined ? [] : ['pipe' as const])],
      dataBytesMax: dataBytesMax(settings.memoryBytes),
    });
    this.#ready.promise.catch(() => {});
    this.#host = host ?? null;
    this.#channel = host === undefined ? null : serveHost(this.#process, host);
    if (niceness > 0) yieldTo(this.#process.pid, niceness);
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARACTERS);
    });
    this.#process.on('message', (message: FromChild) => this.#heard(message));
    this.#process.on('error', (error) => this.#ended(error.message));
    // `close` rather than `exit`: by then its output has been read.
    this.#process.on('close', (code, signal) => {
      this.#ended(signal === null ? `It ended with code ${code}.` : `It was ended by ${signal}.`);
    });
    this.send({ kind: 'open', settings });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** The version of DuckDB, once it is open. Fails if the child ends first. */
  get ready(): Promise<string> {
    return this.#ready.promise;
  }

  send(message: ToChild): void {
    // A process that is gone has reported so by `close`, or is about to.
    if (this.#process.connected) this.#process.send(message, () => {});
  }

  /** Whether this process must stay alive for the child: only while a call is waiting. */
  hold(isHeld: boolean): void {
    const { channel } = this.#process;
    if (isHeld) {
      this.#process.ref();
      channel?.ref();
    } else {
      this.#process.unref();
      channel?.unref();
    }
    const stderr = this.#process.stderr as { ref?(): void; unref?(): void } | null;
    if (isHeld) {
      stderr?.ref?.();
      this.#channel?.ref();
    } else {
      stderr?.unref?.();
      this.#channel?.unref();
    }
  }

  /** What runs in this process for the child is not wanted any more. */
  abortHost(reason: unknown): void {
    this.#host?.abort(reason);
  }

  /** The call for which it was killed, so that others are not blamed. */
  get killedFor(): number | null {
    return this.#killedFor;
  }

  kill(forCall?: number): void {
    this.#killedFor ??= forCall ?? null;
    this.#process.kill('SIGKILL');
  }

  /** Its memory now, as the system reports it or as the child last reported it. */
  residentBytes(): number {
    const { pid } = this.#process;
    return (pid === undefined ? null : residentBytes(pid)) ?? this.#reportedBytes;
  }

  /** Whether it was killed for exceeding its memory limit. */
  get hasExceeded(): boolean {
    return this.#exceeded;
  }

  killForMemory(): void {
    this.#exceeded = true;
    this.kill();
  }

  /** Resolves when the process and its spill folder are gone. */
  async close(): Promise<void> {
    this.hold(true);
    this.send({ kind: 'close' });
    const timer = setTimeout(() => this.kill(), CLOSE_MS);
    await this.#gone.promise;
    clearTimeout(timer);
  }

  #heard(message: FromChild): void {
    if (message.kind === 'ready') this.#ready.resolve(message.duckdb);
    else if (message.kind === 'memory') this.#reportedBytes = message.residentBytes;
    else if (message.kind === 'failed' && message.id === null)
      this.#ended(`DuckDB could not be opened: ${message.fault.what}`);
    else this.#events.onMessage(message);
  }

  #ended(how: string): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#host?.abort(new Error(how));
    this.kill();
    const said = this.#stderr.trim();
    const words = said === '' ? how : `${how} Its last output: ${said}`;
    this.#ready.reject(new Error(words));
    this.#events.onGone(words);
    void rm(this.#settings.spillFolder, { recursive: true, force: true })
      .catch(() => {})
      .then(this.#gone.resolve);
  }
}

/** Lowers its priority. Not every system allows that; then it competes like any other process. */
function yieldTo(pid: number | undefined, niceness: number): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, niceness);
  } catch {
    // It works anyway.
  }
}

function ownEnvironment(): Record<string, string> {
  const own = Object.entries(process.env).filter((each): each is [string, string] => {
    return each[1] !== undefined;
  });
  return { ...Object.fromEntries(own), UV_THREADPOOL_SIZE: POOL_THREADS };
}

function environment(): Record<string, string> {
  const env: Record<string, string> = { UV_THREADPOOL_SIZE: POOL_THREADS };
  for (const name of [...PASSED_ON, COVERAGE]) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}
