/**
 * What is wired to a task, taken apart once when the flow is defined, and put together again for each
 * input. References to results stay references in the document; those to the flow's input become
 * plain values.
 */
import { MillraceError, asLiteral } from '../../scheduler/core/index.ts';
import type { Json, JsonObject } from '../../scheduler/core/index.ts';
import { type About, refuse, shown } from './fault.ts';
import { type Pointed, describe, pointedBy } from './placeholder.ts';
import { pointerOf } from './pointer.ts';

/** The key that makes an object of a document a reference. */
const FROM = '$from';

/** As deep as a document may be. */
const DEPTH_MAX = 200;

export type Part =
  | { readonly kind: 'plain'; readonly value: Json }
  | { readonly kind: 'pointed'; readonly pointed: Pointed }
  | { readonly kind: 'list'; readonly parts: readonly Part[] }
  | { readonly kind: 'object'; readonly fields: readonly (readonly [string, Part])[] };

export interface Wiring {
  readonly about: About;
  /** Called for each reference, in order; refuses those that do not belong here. */
  readonly use: (pointed: Pointed) => void;
}

/** Undefined for undefined. Returns an immutable copy. */
export function partOf(value: unknown, wiring: Wiring, path = '', depth = 0): Part | undefined {
  const pointed = pointedBy(value);
  if (pointed !== undefined) {
    wiring.use(pointed);
    return { kind: 'pointed', pointed };
  }
  switch (typeof value) {
    case 'undefined':
      return undefined;
    case 'string':
    case 'boolean':
      return { kind: 'plain', value };
    case 'number':
      if (Number.isFinite(value)) return { kind: 'plain', value };
      return unfit(wiring, path, `${value} is not a JSON number`, 'Use null or text for it.');
    case 'object':
      if (value === null) return { kind: 'plain', value };
      if (depth >= DEPTH_MAX) {
        unfit(wiring, path.slice(0, 60), 'the value contains itself or is nested too deeply');
      }
      return Array.isArray(value)
        ? listPart(value as readonly unknown[], wiring, path, depth)
        : objectPart(value, wiring, path, depth);
    case 'bigint':
    case 'symbol':
    case 'function':
    default:
      return unfit(wiring, path, `${shown(value)} is not JSON`, 'Pass plain data and references.');
  }
}

function listPart(
  list: readonly unknown[],
  wiring: Wiring,
  path: string,
  depth: number,
): Part | undefined {
  const parts = Array.from(list, (each, at) => {
    const part = partOf(each, wiring, `${path}/${at}`, depth + 1);
    return part ?? unfit(wiring, `${path}/${at}`, 'a list cannot hold undefined', 'Use null.');
  });
  const plain = parts.map((part) => (part.kind === 'plain' ? part.value : undefined));
  return plain.every((each) => each !== undefined)
    ? { kind: 'plain', value: plain }
    : { kind: 'list', parts };
}

function objectPart(object: object, wiring: Wiring, path: string, depth: number): Part {
  if (object instanceof Promise) {
    unfit(
      wiring,
      path,
      'a promise is not a value',
      'A flow is built without waiting for anything.',
    );
  }
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    const name = object.constructor?.name;
    unfit(
      wiring,
      path,
      `an instance of ${name || 'a class'} is not plain JSON`,
      'Pass plain data.',
    );
  }
  const fields: (readonly [string, Part])[] = [];
  for (const [key, value] of Object.entries(object)) {
    const inner = path + pointerOf([key]);
    if (key === FROM) {
      unfit(
        wiring,
        inner,
        `the key ${FROM} is reserved`,
        'Pass what `task` returned to refer to it.',
      );
    }
    const part = partOf(value, wiring, inner, depth + 1);
    if (part !== undefined) fields.push([key, part]);
  }
  const plain = fields.flatMap(([key, part]) => (part.kind === 'plain' ? [[key, part.value]] : []));
  // fromEntries defines fields; assigning them would let a key `__proto__` do harm.
  return plain.length === fields.length
    ? { kind: 'plain', value: Object.fromEntries(plain) as JsonObject }
    : { kind: 'object', fields };
}

function unfit(wiring: Wiring, path: string, what: string, todo?: string): never {
  refuse(wiring.about, path === '' ? `${what}.` : `${what}, at ${path}.`, todo);
}

/** The flow's input for one job. Undefined when there is none. */
export type FlowInput = Json | undefined;

/** Undefined when it is a field of the input that is not there. Data stays data, also where it looks
 * like a reference. */
export function filled(part: Part, input: FlowInput, about: About): Json | undefined {
  switch (part.kind) {
    case 'plain':
      return asLiteral(part.value);
    case 'pointed':
      return filledReference(part.pointed, input, about);
    case 'list':
      return part.parts.map((each) => filledWhole(each, input, about));
    case 'object':
      return Object.fromEntries(
        part.fields.flatMap(([key, each]) => {
          const value = filled(each, input, about);
          return value === undefined ? [] : [[key, value]];
        }),
      );
  }
}

/** The same where something must be there. */
export function filledWhole(part: Part, input: FlowInput, about: About): Json {
  const value = filled(part, input, about);
  if (value !== undefined) return value;
  return part.kind === 'pointed' ? absent(part.pointed, about) : refuse(about, 'has no value.');
}

function filledReference(pointed: Pointed, input: FlowInput, about: About): Json | undefined {
  const { task, tokens, orNull, isError } = pointed;
  if (task !== null) {
    const error = isError === true ? { error: true } : {};
    return { [FROM]: task, ...error, ...(tokens.length === 0 ? {} : { path: pointerOf(tokens) }) };
  }
  const value = inputAt(pointed, input, about);
  if (value === undefined) return orNull === 'never' ? undefined : null;
  return asLiteral(value);
}

/** A field that an object does not have is undefined: it is left out where it is wired. */
export function inputAt(pointed: Pointed, input: FlowInput, about: About): Json | undefined {
  let here = input;
  for (const [at, token] of pointed.tokens.entries()) {
    if (typeof here !== 'object' || here === null) return absent(pointed, about);
    if (Array.isArray(here)) {
      here = (here as readonly Json[])[Number(token)] ?? absentItem(here, token, pointed, about);
      continue;
    }
    here = Object.hasOwn(here, token) ? (here as JsonObject)[token] : undefined;
    if (here === undefined && at < pointed.tokens.length - 1) return absent(pointed, about);
  }
  return here;
}

function absentItem(list: readonly Json[], token: string, pointed: Pointed, about: About): Json {
  return Object.hasOwn(list, token) ? null : absent(pointed, about);
}

function absent(pointed: Pointed, about: About): never {
  const path = pointerOf(pointed.tokens);
  throw new MillraceError({
    code: 'bad_input',
    ...(path === '' ? {} : { path }),
    what: `${about} needs ${describe(pointed)}, which is missing in the input.`,
    todo: 'Give it in the input, or wrap the reference in orNull.',
  });
}
