/**
 * Runs operators and functions for another process, which asks one thing after the other. Programs that define them
 * without a module need it: a function cannot be sent to the process that runs DuckDB.
 */
import type { ColumnValues, CustomDefinition, OperatorBatch } from './operator.ts';
import { OperatorRun, type RunAnswer, type RunContext } from './run.ts';

export type HostRequest =
  | {
      readonly kind: 'begin';
      readonly name: string;
      readonly params: Readonly<Record<string, unknown>>;
      readonly memoryBytes: number;
    }
  | { readonly kind: 'step'; readonly given?: OperatorBatch | null }
  | { readonly kind: 'call'; readonly name: string; readonly batch: OperatorBatch };

export type HostAnswer =
  | RunAnswer
  | { readonly kind: 'begun' }
  | { readonly kind: 'values'; readonly values: ColumnValues }
  | { readonly kind: 'failed'; readonly message: string; readonly isFatal: boolean };

export interface HostOptions {
  readonly definition: (name: string) => CustomDefinition | undefined;
  readonly progress: RunContext['progress'];
}

/** One for each process that asks: it runs one operator at a time. */
export class OperatorHost {
  readonly #options: HostOptions;
  #run: OperatorRun | null = null;
  #abort = new AbortController();

  constructor(options: HostOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async answer(request: HostRequest): Promise<HostAnswer> {
    try {
      return await this.#answered(request);
    } catch (error) {
      return { kind: 'failed', ...failureOf(error) };
    }
  }

  /** What runs is not wanted any more. */
  abort(reason: unknown): void {
    this.#abort.abort(reason);
    this.#run?.end();
    this.#run = null;
  }

  async #answered(request: HostRequest): Promise<HostAnswer> {
    switch (request.kind) {
      case 'begin': {
        const { name, params, memoryBytes } = request;
        const definition = this.#options.definition(name);
        if (definition?.kind !== 'millrace.operator')
          throw new Error(`There is no operator ${name}.`);
        this.abort(new Error('Another operator has begun.'));
        this.#abort = new AbortController();
        const { signal } = this.#abort;
        const { progress } = this.#options;
        this.#run = new OperatorRun(definition, params, { signal, memoryBytes, progress });
        return { kind: 'begun' };
      }
      case 'step':
        if (this.#run === null) throw new Error('No operator has begun.');
        return this.#run.step(request.given);
      case 'call': {
        const definition = this.#options.definition(request.name);
        if (definition?.kind !== 'millrace.function')
          throw new Error(`There is no function ${request.name}.`);
        return { kind: 'values', values: definition.run(request.batch) };
      }
    }
  }
}

/** What user code threw, as far as it can be said. */
export function failureOf(error: unknown): { readonly message: string; readonly isFatal: boolean } {
  if (!(error instanceof Error)) return { message: String(error), isFatal: false };
  const isFatal = 'failure' in error && error.failure === 'fatal';
  const name = error.name === 'Error' ? '' : `${error.name}: `;
  return { message: `${name}${error.message}`, isFatal };
}
