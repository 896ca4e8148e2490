import type { EngineLimits, RowEngine, RowsRequest } from '../engine.ts';
import { asNamed } from '../sql/links.ts';
import { rowsCall } from '../sql/rows-script.ts';
import { CallFailed, type EngineProcess } from './engine-process.ts';
import { errorOf, written } from './errors.ts';
import { IsolatingEngine } from './isolating-engine.ts';

/** A slow reader holds its place, and nothing else. */
const READERS_MAX = 64;

export function startRowEngine(limits: EngineLimits): RowEngine {
  return new ChildRowEngine(limits);
}

/** Below the leader that it serves. */
const NICENESS = 5;

class ChildRowEngine implements RowEngine {
  readonly #process: IsolatingEngine;

  constructor(limits: EngineLimits) {
    this.#process = new IsolatingEngine({
      limits,
      purpose: 'reading its result',
      callsMax: READERS_MAX,
      niceness: NICENESS,
    });
  }

  rows(request: RowsRequest, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#process.stream((process) => rowsFrom(process, request, signal), signal);
  }

  warm(): Promise<string> {
    return this.#process.warm();
  }

  close(): Promise<void> {
    return this.#process.close();
  }
}

export async function* rowsFrom(
  process: EngineProcess,
  request: RowsRequest,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const call = written(() => rowsCall(request, process.folder));
  try {
    yield* process.stream(call, signal);
  } catch (error) {
    throw error instanceof CallFailed ? errorOf(asNamed(error.fault, call.sandbox)) : error;
  }
}
