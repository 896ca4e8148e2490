import { MillraceError, isMillraceError } from '../../../scheduler/core/index.ts';
import { MissingOperatorError } from '../../../tasks/executors/index.ts';
import type {
  CustomEngineCode,
  EngineLimits,
  FragmentEngine,
  FragmentRequest,
  FragmentOutput,
  RowsRequest,
} from '../engine.ts';
import type { FileRange } from '../../plan/index.ts';
import type { Fault, FragmentCall } from '../messages.ts';
import { fragmentCall } from '../sql/fragment-script.ts';
import { asNamed } from '../sql/links.ts';
import { CallFailed, EngineProcess, type OperatorProgress } from './engine-process.ts';
import { errorOf, written } from './errors.ts';
import { rowsFrom } from './row-engine.ts';

export function startFragmentEngine(
  limits: EngineLimits,
  custom?: CustomEngineCode,
): FragmentEngine {
  return new ChildFragmentEngine(limits, custom);
}

/** Short tasks should run beside fragments that use all processors. */
const NICENESS = 10;

class ChildFragmentEngine implements FragmentEngine {
  readonly #process: EngineProcess;

  constructor(limits: EngineLimits, custom: CustomEngineCode | undefined) {
    const code = custom === undefined ? {} : { custom };
    // One at a time: the memory limit is for one call.
    const options = { purpose: 'one of its tasks', callsMax: 1, niceness: NICENESS };
    this.#process = new EngineProcess({ limits, ...options, ...code });
  }

  async run(order: FragmentRequest, signal: AbortSignal): Promise<FragmentOutput> {
    const call = written(() => fragmentCall(order, this.#process.folder));
    let batch = 0;
    const onProgress = (progress: OperatorProgress): void => {
      batch = Math.max(batch, progress.batch);
      if (progress.fraction !== null) order.onProgress?.(progress.fraction, progress.note);
    };
    try {
      const answer = await this.#process.call(call, signal, { onProgress });
      const { parts, rows, sums, keys, filteredRows, runMs, spilledBytes } = answer;
      return {
        parts,
        rows: rows === null ? null : (JSON.parse(rows) as FragmentOutput['rows']),
        ...{ sums, keys },
        ...(filteredRows === null ? {} : { filteredRows }),
        rowsIn: rowsRead(order),
        rowsOut: parts.reduce((sum, part) => sum + part.rows, 0),
        runMs,
        spilledBytes,
      };
    } catch (error) {
      if (!(error instanceof CallFailed)) throw ofOperator(error, call, batch);
      const { missing, why } = error.fault;
      if (missing !== undefined) throw new MissingOperatorError(missing, why);
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

/** An operator that ends its process says nothing itself. */
function ofOperator(error: unknown, { custom }: FragmentCall, batch: number): unknown {
  if (custom === null || !isMillraceError(error) || !OF_PROCESS.has(error.code)) return error;
  const { code, why, todo } = error;
  const short = code === 'out_of_memory';
  return new MillraceError({
    code,
    what: `The operator '${custom.name}' has ${short ? 'run out of memory' : 'ended its process'} ${batch === 0 ? 'before its first batch' : `at batch ${batch}`}.`,
    why: why ?? error.what,
    ...(todo === undefined || !short
      ? {}
      : { todo: 'Keep fewer rows at a time, or raise memoryBytes.' }),
    cause: error,
  });
}

const OF_PROCESS: ReadonlySet<string> = new Set(['out_of_memory', 'engine_crashed']);

function rowsRead({ fragment, ranges, spans }: FragmentRequest): number {
  // Of a text file the bytes are known, not the rows.
  const isText = new Set(
    fragment.scans.filter(({ reader }) => reader.format !== 'parquet').map((scan) => scan.relation),
  );
  return Object.entries(ranges)
    .filter(([relation]) => !isText.has(relation))
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
