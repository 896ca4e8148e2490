/** Keys of limits, and other values that must be known when a job is submitted. */
import type { TaskUse } from './builder.ts';
import { refuse, shown } from './fault.ts';
import type { Needs } from './needs.ts';
import type { TaskDefaults } from './options.ts';
import { pointedBy } from './placeholder.ts';
import { type Part, partOf } from './template.ts';

export function limitsOf(id: string, limits: TaskUse['limits']): Pick<TaskDefaults, 'limits'> {
  if (limits === undefined) return {};
  const fixed = limits.map((limit, at) => ({
    ...limit,
    key: typeof limit.key === 'string' ? limit.key : `${id} ${at}`,
  }));
  return { limits: fixed };
}

export function keysOf(
  limits: TaskUse['limits'],
  from: number,
  needs: Needs,
): ReadonlyMap<number, readonly Part[]> {
  const keys = new Map<number, readonly Part[]>();
  for (const [at, { key }] of (limits ?? []).entries()) {
    if (typeof key === 'string') continue;
    // A reference looks like a list of anything.
    const isList = pointedBy(key) === undefined && Array.isArray(key);
    const parts = (isList ? (key as readonly unknown[]) : [key]).map(
      (each) => keyPart(each, needs, `'limits[${at}].key'`) ?? noKey(needs, at),
    );
    keys.set(from + at, parts);
  }
  return keys;
}

function noKey(needs: Needs, at: number): never {
  return refuse(
    needs.about,
    `'limits[${at}].key' has no value.`,
    'Give text or a part of the input.',
  );
}

export function keyPart(value: unknown, needs: Needs, field: string): Part | undefined {
  const part = onlyInput(value, needs, `${field} is made`);
  if (part?.kind === 'plain' && typeof part.value !== 'string') {
    refuse(needs.about, `${field} must be text, not ${shown(value)}.`);
  }
  return part;
}

/** A plain value or one part of the flow's input: it must be known when the job is submitted. */
export function onlyInput(value: unknown, needs: Needs, what: string): Part | undefined {
  const part = partOf(value, needs);
  const isKnown =
    part === undefined ||
    part.kind === 'plain' ||
    (part.kind === 'pointed' && part.pointed.task === null);
  if (isKnown) return part;
  return refuse(
    needs.about,
    `${what} with a plain value or one part of the flow's input.`,
    'The result of a task is not known when the flow is built.',
  );
}
