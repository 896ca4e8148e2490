import type {
  EngineLimits,
  FragmentEngine,
  FragmentRequest,
  FragmentOutput,
  RowsRequest,
} from '../engine.ts';
import type { FileRange } from '../../plan/index.ts';
import type { Fault } from '../messages.ts';
import { fragmentCall } from '../sql/fragment-script.ts';
import { asNamed } from '../sql/links.ts';
import { CallFailed, EngineProcess } from './engine-process.ts';
import { errorOf, written } from './errors.ts';
import { rowsFrom } from './row-engine.ts';

export function startFragmentEngine(limits: EngineLimits): FragmentEngine {
  return new ChildFragmentEngine(limits);
}

/** Short tasks should run beside fragments that use all processors. */
const NICENESS = 10;

class ChildFragmentEngine implements FragmentEngine {
  readonly #process: EngineProcess;

  constructor(limits: EngineLimits) {
    // One at a time: the memory limit is for one call.
    const purpose = 'one of its tasks';
    this.#process = new EngineProcess({ limits, purpose, callsMax: 1, niceness: NICENESS });
  }

  async run(order: FragmentRequest, signal: AbortSignal): Promise<FragmentOutput> {
    const call = written(() => fragmentCall(order, this.#process.folder));
    try {
      const { parts, rows, sums, runMs, spilledBytes } = await this.#process.call(call, signal);
      return {
        parts,
        rows: rows === null ? null : (JSON.parse(rows) as FragmentOutput['rows']),
        sums,
        rowsIn: rowsRead(order),
        rowsOut: parts.reduce((sum, part) => sum + part.rows, 0),
        runMs,
        spilledBytes,
      };
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      throw errorOf(blamed(asNamed(error.fault, call.sandbox), order));
    }
  }

  rows(request: RowsRequest, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return rowsFrom(this.#process, request, signal);
  }

  warm(): Promise<string> {
    return this.#process.warm();
  }

  close(): Promise<void> {
    return this.#process.close();
  }
}

function rowsRead({ ranges, spans }: FragmentRequest): number {
  return Object.entries(ranges)
    .map(([relation, files]) => {
      const looked = files.reduce((sum, range) => sum + rowsOf(range), 0);
      return spans?.[relation]?.rows ?? looked;
    })
    .reduce((sum, rows) => sum + rows, 0);
}

function rowsOf({ from, to, rows }: FileRange): number {
  if (from === null) return rows ?? 0;
  return Math.max(0, (to ?? rows ?? from) - from);
}

/** A missing file may belong to a table or to the output of another stage. */
function blamed(fault: Fault, { inputs }: FragmentRequest): Fault {
  if (fault.code !== 'table_changed') return fault;
  const isInput = Object.values(inputs)
    .flat()
    .some((path) => fault.what.includes(path));
  return isInput ? { ...fault, code: 'input_lost' } : fault;
}
