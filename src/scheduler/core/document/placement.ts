/** Where a task may run: the `placement` of a task document. */
import { isObject } from '../json.ts';
import type { NodeId } from '../ids.ts';
import { readCapabilityTest } from '../node/capability-reader.ts';
import { NO_TESTS } from '../node/capability.ts';
import type { CapabilityTest, Placement } from './document.ts';
import { type Fields, NAMES_MAX, readName } from './reader.ts';
import { below, refuse } from './refuse.ts';
import { described } from './text.ts';

const NONE: readonly never[] = Object.freeze([]);

/** Any node that has the executor. Shared, so that the common case is one comparison. */
export const ANYWHERE: Placement = Object.freeze({
  executors: NONE,
  executorsAny: NONE,
  capabilities: NO_TESTS,
  allowedNodes: null,
  forbiddenNodes: NONE,
  maxParallelPerNode: null,
});

export function readPlacement(task: Fields): Placement {
  const fields = task.inner('placement');
  if (fields === undefined) return ANYWHERE;
  const executorsAny = fields.names('executorsAny');
  if (executorsAny?.length === 0) {
    refuse(
      fields.at('executorsAny'),
      'An empty list leaves no executor to choose from.',
      'Give at least one, or omit the field.',
    );
  }
  const allowedNodes = fields.names('allowedNodes');
  if (allowedNodes?.length === 0) {
    refuse(
      fields.at('allowedNodes'),
      'An empty list allows no node, so the task could never run.',
      'Give at least one, or omit the field to allow any node.',
    );
  }
  // A node that is both allowed and forbidden is legal: deny wins.
  return {
    executors: fields.names('executors') ?? NONE,
    executorsAny: executorsAny ?? NONE,
    capabilities: readTests(fields),
    allowedNodes: (allowedNodes as readonly NodeId[] | undefined) ?? null,
    forbiddenNodes: (fields.names('forbiddenNodes') as readonly NodeId[] | undefined) ?? NONE,
    maxParallelPerNode: fields.whole('maxParallelPerNode'),
  };
}

function readTests(placement: Fields): Readonly<Record<string, CapabilityTest>> {
  const value = placement.raw('capabilities');
  if (value === undefined) return NO_TESTS;
  const path = placement.at('capabilities');
  if (!isObject(value)) {
    refuse(path, `'capabilities' must be an object, not ${described(value)}.`);
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return NO_TESTS;
  if (entries.length > NAMES_MAX) {
    refuse(path, `Has ${entries.length} entries; the limit is ${NAMES_MAX}.`);
  }
  const tests = entries.map(([name, test]): [string, CapabilityTest] => {
    const at = (): string => below(path, name);
    return [readName(name, at), readCapabilityTest(test, at)];
  });
  return Object.fromEntries(tests.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}
