/** The input of a batch: the items of the lists that its jobs have as inputs, in the order in which they came. */
import { resolveInput } from '../core/index.ts';
import type { Json } from '../core/index.ts';

/** As JSON text; null when it is larger than that. Each input is the template of a list without references. */
export function itemsOf(inputs: readonly (string | null)[], bytesMax: number): string | null {
  let characters = 0;
  for (const input of inputs) characters += input?.length ?? 0;
  if (characters > bytesMax) return null;
  const items = inputs.flatMap(listIn);
  const text = JSON.stringify(items);
  return Buffer.byteLength(text) > bytesMax ? null : text;
}

function listIn(input: string | null): readonly Json[] {
  const resolved = resolveInput(
    input,
    () => undefined,
    () => 'skipped',
  );
  const value = resolved.ok ? resolved.input : null;
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}
