/**
 * One run of an operator, step by step: whoever drives it gives batches as they are needed and takes what comes out.
 * So it can run in another process than the one that reads and writes rows.
 */
import { didYouMean } from '../../../scheduler/core/index.ts';
import { FatalError } from '../failure.ts';
import { withDefaults } from './operator.ts';
import type {
  OperatorBatch,
  OperatorContext,
  OperatorDefinition,
  OperatorOutput,
} from './operator.ts';

export type RunAnswer =
  /** The next step must bring a batch, or null after the last one. */
  | { readonly kind: 'needs' }
  | { readonly kind: 'output'; readonly batch: OperatorOutput }
  | { readonly kind: 'done' };

export type RunContext = Omit<OperatorContext, 'params'>;

interface Wanted {
  readonly resolve: (result: IteratorResult<OperatorBatch>) => void;
}

export class OperatorRun {
  readonly #outputs: AsyncIterator<OperatorOutput>;
  #next: Promise<IteratorResult<OperatorOutput>> | null = null;
  #wanted: Wanted | null = null;
  #onWanted: () => void = () => {};
  #isOver = false;

  constructor(
    definition: OperatorDefinition,
    params: Readonly<Record<string, unknown>>,
    context: RunContext,
  ) {
    const inputs: AsyncIterableIterator<OperatorBatch> = {
      next: () => this.#want(),
      return: async () => ({ value: undefined, done: true }),
      [Symbol.asyncIterator]: () => inputs,
    };
    const given = withDefaults(definition, params);
    const made = definition.run(inputs, { ...context, params: given });
    this.#outputs = made[Symbol.asyncIterator]();
  }

  /** Rejects with what the operator throws. `given` answers the last `needs`: null for no more batches. */
  async step(given?: OperatorBatch | null): Promise<RunAnswer> {
    if (given !== undefined) this.#give(given === null ? null : strict(given));
    const wanted = new Promise<'needs'>((resolve) => {
      this.#onWanted = () => resolve('needs');
      if (this.#wanted !== null) resolve('needs');
    });
    this.#next ??= this.#outputs.next();
    const result = await Promise.race([this.#next, wanted]);
    if (result === 'needs') return { kind: 'needs' };
    this.#next = null;
    return result.done === true ? { kind: 'done' } : { kind: 'output', batch: result.value };
  }

  /** Ends it early; what it still does is of no interest. */
  end(): void {
    this.#isOver = true;
    this.#give(null);
    this.#next?.catch(() => {});
    void this.#outputs.return?.().catch(() => {});
  }

  #want(): Promise<IteratorResult<OperatorBatch>> {
    if (this.#isOver) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => {
      this.#wanted = { resolve };
      this.#onWanted();
    });
  }

  #give(batch: OperatorBatch | null): void {
    if (batch === null) this.#isOver = true;
    const wanted = this.#wanted;
    this.#wanted = null;
    wanted?.resolve(batch === null ? { value: undefined, done: true } : { value: batch });
  }
}

/**
 * The batch, with columns that cannot be misspelled: reading one that the input does not have fails the query for good.
 * The check is in the prototype, so that copies and loops see plain columns.
 */
function strict({ rowCount, columns }: OperatorBatch): OperatorBatch {
  const names = Object.keys(columns);
  const prototype: object = new Proxy(Object.prototype, {
    get: (target, key, receiver): unknown => {
      if (typeof key !== 'string' || key in target || ASKED_OF_ANYTHING.has(key))
        return Reflect.get(target, key, receiver);
      throw new FatalError(
        `its input has no column '${key}'.${didYouMean(key, names)} Its columns are ${names.join(', ')}.`,
      );
    },
  });
  const own = Object.create(prototype, Object.getOwnPropertyDescriptors(columns)) as typeof columns;
  return { rowCount, columns: own };
}

/** By promises and by JSON. */
const ASKED_OF_ANYTHING: ReadonlySet<string> = new Set(['then', 'toJSON']);
