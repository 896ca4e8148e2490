/**
 * The operators and functions of users in this process. Those of modules run here; those that a program has defined
 * without a module run in that program, which this process asks and waits for.
 */
import { readSync, writeSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { OperatorRun, failureOf, loadDefinitionsFrom } from '../../../tasks/executors/index.ts';
import type {
  ColumnValues,
  CustomDefinition,
  HostAnswer,
  HostRequest,
  OperatorBatch,
} from '../../../tasks/executors/index.ts';
import { type CustomSettings, HOST_CHANNEL } from '../messages.ts';

export interface RunningOperator {
  step(given?: OperatorBatch | null): Promise<HostAnswer>;
  end(): void;
}

export interface OperatorStart {
  readonly name: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly memoryBytes: number;
  readonly signal: AbortSignal;
  readonly progress: (fraction: number, note?: string) => void;
}

export class CustomCode {
  readonly settings: CustomSettings;
  readonly #definitions: ReadonlyMap<string, CustomDefinition>;
  /** Why modules could not be loaded. */
  readonly failures: readonly string[];

  private constructor(
    settings: CustomSettings,
    definitions: ReadonlyMap<string, CustomDefinition>,
    failures: readonly string[],
  ) {
    this.settings = settings;
    this.failures = failures;
    this.#definitions = definitions;
  }

  /** What a module that cannot be loaded would define is missing. */
  static async load(settings: CustomSettings): Promise<CustomCode> {
    const definitions = new Map<string, CustomDefinition>();
    const failures: string[] = [];
    for (const module of settings.modules) {
      try {
        for (const each of (await loadDefinitionsFrom(module)).operators)
          definitions.set(each.name, each);
      } catch (error) {
        failures.push(failureOf(error).message);
      }
    }
    return new CustomCode(settings, definitions, failures);
  }

  has(name: string): boolean {
    return this.#definitions.has(name) || this.settings.hosted.includes(name);
  }

  begin({ name, params, memoryBytes, signal, progress }: OperatorStart): RunningOperator {
    const definition = this.#definitions.get(name);
    if (definition === undefined)
      return remoteOperator({ kind: 'begin', name, params, memoryBytes });
    if (definition.kind !== 'millrace.operator') throw new Error(`${name} is a function.`);
    const run = new OperatorRun(definition, params, { signal, memoryBytes, progress });
    return {
      step: (given) =>
        run.step(given).catch((error: unknown) => ({ kind: 'failed', ...failureOf(error) })),
      end: () => run.end(),
    };
  }

  /** Called by DuckDB in the middle of a query, so it cannot wait for anything. */
  call(name: string, batch: OperatorBatch): ColumnValues {
    const definition = this.#definitions.get(name);
    if (definition?.kind === 'millrace.function') return definition.run(batch);
    const answer = asked({ kind: 'call', name, batch });
    if (answer.kind === 'values') return answer.values;
    throw new Error(answer.kind === 'failed' ? answer.message : 'The program gave no answer.');
  }
}

function remoteOperator(begin: HostRequest): RunningOperator {
  const answer = asked(begin);
  return {
    step: async (given) => {
      if (answer.kind === 'failed') return answer;
      return asked(given === undefined ? { kind: 'step' } : { kind: 'step', given });
    },
    // The program ends it with the call.
    end: () => {},
  };
}

const LENGTH_BYTES = 4;
/** If the channel does not block by itself. */
const PAUSE_MS = 1;

/** Sends a request to the program and blocks until it has answered. */
function asked(request: HostRequest): HostAnswer {
  const body = serialize(request);
  const head = Buffer.alloc(LENGTH_BYTES);
  head.writeUInt32LE(body.length);
  written(Buffer.concat([head, body]));
  return deserialize(read(read(LENGTH_BYTES).readUInt32LE())) as HostAnswer;
}

function written(bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += retried(() => writeSync(HOST_CHANNEL, bytes, at));
}

function read(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length;) {
    const count = retried(() => readSync(HOST_CHANNEL, bytes, at, length - at, null));
    if (count === 0) throw new Error('The program that defines the operator has ended.');
    at += count;
  }
  return bytes;
}

function retried(act: () => number): number {
  for (;;) {
    try {
      return act();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(PAUSE, 0, 0, PAUSE_MS);
    }
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));
