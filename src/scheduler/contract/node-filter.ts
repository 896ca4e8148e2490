/** Nodes by what they can run. */
import { MillraceError, hasCapability, operatorExecutor } from '../core/index.ts';
import type { Capabilities } from '../core/index.ts';
import type { NodeShape } from './shapes.ts';

export interface NodeFilter {
  /** Only nodes that run tasks of this executor. */
  readonly executor?: string;
  /** Only nodes that have this custom operator or function. */
  readonly operator?: string;
  /** `key:value`: only nodes that would pass this test in a task's placement; a number means at least as much. */
  readonly capability?: string;
}

export function nodesThat<At>(
  nodes: readonly NodeShape<At>[],
  { executor, operator, capability }: NodeFilter,
): readonly NodeShape<At>[] {
  const [name, value] = capability === undefined ? [] : readTest(capability);
  return nodes.filter(
    ({ executors, capabilities }) =>
      (executor === undefined || executors.includes(executor)) &&
      (operator === undefined || executors.includes(operatorExecutor(operator))) &&
      (name === undefined ||
        value === undefined ||
        hasCapability(capabilities as Capabilities, name, value)),
  );
}

/** A number or a boolean as such, everything else as text. */
function readTest(text: string): readonly [string, string | number | boolean] {
  const at = text.indexOf(':');
  if (at <= 0)
    throw new MillraceError({
      code: 'bad_input',
      path: '?capability',
      what: `'${text.slice(0, 80)}' is not a capability to look for.`,
      todo: 'Write key:value, for instance gpu:nvidia or cpu_cores:8.',
    });
  const [name, value] = [text.slice(0, at), text.slice(at + 1)];
  if (value === 'true' || value === 'false') return [name, value === 'true'];
  const number = Number(value);
  return [name, value.trim() !== '' && Number.isFinite(number) ? number : value];
}
