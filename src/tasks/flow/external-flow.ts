/** Flows whose code lives elsewhere, known by their names. */
import type { Json, JsonObject } from '../../scheduler/core/index.ts';
import type { Callable } from '../executors/index.ts';
import { jsonCopy } from './json-copy.ts';
import { checkedName } from './task.ts';

/** A flow that some worker has published. */
export interface ExternalFlow<Input, Result> extends Callable<Input, Result> {
  readonly kind: 'millrace.externalFlow';
  readonly name: string;
  /** The server makes the job of it. */
  toDocument(input: Input): JsonObject;
  readResult(result: Json): Result;
}

/**
 * Names a flow whose code lives elsewhere: in another module, another repository. Submit it, call it with `ctx.call` or
 * schedule it like a flow of your own. Nobody checks the two types; they are what you know of it.
 *
 * ```ts
 * const refund = externalFlow<{ order: string }, { receipt: string }>('refund');
 * const { receipt } = await ctx.call('refund', refund, { order: 'A-7' });
 * ```
 */
export function externalFlow<Input = Json, Result = Json>(
  name: string,
): ExternalFlow<Input, Result> {
  const about = checkedName('External flow', { name });
  return Object.freeze({
    kind: 'millrace.externalFlow',
    name,
    toDocument(input: Input): JsonObject {
      const copy = jsonCopy(input, about);
      return { flow: name, ...(copy === undefined ? {} : { input: copy }) };
    },
    // Whoever has the flow's code has checked it.
    readResult: (result: Json) => result as Result,
  });
}
