/**
 * What can be said of a schema as plain data, so that a signal which does not fit is refused when it is sent. Schema
 * libraries describe themselves as JSON Schema, but one that converts what it is given (a number from text, a default for a
 * mistake) takes more than it says. So each claim is tried on the schema itself, and only what it really refuses is kept.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { JSON_TYPES, SHAPE_LENGTH_MAX, isObject } from '../../scheduler/core/index.ts';
import type { JsonType, SignalShape } from '../../scheduler/core/index.ts';

type Fields = Readonly<Record<string, unknown>>;
type Path = readonly string[];

/** Values of a wrong type, those among them that converters take. */
const PROBES: readonly (readonly [JsonType, unknown])[] = [
  ['null', null],
  ['boolean', true],
  ['number', 7],
  ['string', '7'],
  ['string', 'true'],
  ['string', ''],
  ['array', []],
  ['object', {}],
];
/** A value that no choice offers. */
const NO_CHOICE = 'millrace: none of these';
const NODES_MAX = 32;
const DEPTH_MAX = 4;

/** Undefined when nothing can be said. Never throws: this only spares people a detour. */
export function signalShapeOf(schema: StandardSchemaV1): SignalShape | undefined {
  try {
    const described = describedBy(schema);
    if (described === undefined) return undefined;
    const shape = new Prober(schema).shape(described, []);
    const isPlain = Object.keys(shape).length === 0;
    return isPlain || JSON.stringify(shape).length > SHAPE_LENGTH_MAX ? undefined : shape;
  } catch {
    return undefined;
  }
}

/** By the convention for schemas that can show themselves as JSON Schema. */
function describedBy(schema: StandardSchemaV1): unknown {
  const standard = schema['~standard'] as {
    readonly jsonSchema?: { readonly input?: (options: { target: string }) => unknown };
  };
  return standard.jsonSchema?.input?.({ target: 'draft-2020-12' });
}

class Prober {
  readonly #schema: StandardSchemaV1;
  #nodes = 0;

  constructor(schema: StandardSchemaV1) {
    this.#schema = schema;
  }

  shape(described: unknown, path: Path): SignalShape {
    this.#nodes += 1;
    if (!isFields(described) || this.#nodes > NODES_MAX || path.length > DEPTH_MAX) return {};
    const types = typesOf(described);
    if (types === null || !this.#refusesOthers(types, path)) return {};
    const texts = textsOf(described);
    const isChoice = texts !== null && this.#refuses(NO_CHOICE, path);
    return {
      types,
      ...(isChoice ? { texts } : {}),
      ...(types.length === 1 && types[0] === 'object' ? this.#object(described, path) : {}),
    };
  }

  #object(described: Fields, path: Path): SignalShape {
    const { properties, required } = described;
    const fields: [string, SignalShape][] = [];
    for (const [name, each] of Object.entries(isFields(properties) ? properties : {})) {
      const shape = this.shape(each, [...path, name]);
      if (Object.keys(shape).length > 0) fields.push([name, shape]);
    }
    const needed: string[] = [];
    for (const name of Array.isArray(required) ? (required as unknown[]) : []) {
      if (typeof name !== 'string') continue;
      if (this.#refuses({}, path, [...path, name])) needed.push(name);
    }
    return {
      ...(fields.length === 0 ? {} : { fields: Object.fromEntries(fields) }),
      ...(needed.length === 0 ? {} : { required: needed }),
    };
  }

  #refusesOthers(types: readonly JsonType[], path: Path): boolean {
    for (const [type, value] of PROBES) {
      if (!types.includes(type) && !this.#refuses(value, path)) return false;
    }
    return true;
  }

  /** Whether the schema refuses exactly that place when this value is at `path`. */
  #refuses(value: unknown, path: Path, place: Path = path): boolean {
    const whole = path.toReversed().reduce((inner, key) => ({ [key]: inner }), value);
    const { issues = [] } = now(this.#schema['~standard'].validate(whole));
    return issues.some(({ path: at = [] }) => {
      const keys = at.map((each) => String(typeof each === 'object' ? each.key : each));
      return keys.length === place.length && keys.every((key, index) => key === place[index]);
    });
  }
}

/** A schema that has to wait for something cannot be tried: the wait for the signal must begin at once. */
function now<T>(result: T | Promise<T>): T {
  if (!(result instanceof Promise)) return result;
  result.catch(() => {});
  throw new Error('this schema is asynchronous');
}

/** Null when it does not say, or in a way that is not read here. */
function typesOf({ type, anyOf, const: only, enum: choices }: Fields): readonly JsonType[] | null {
  if (Array.isArray(anyOf)) {
    const all = anyOf.map((each) => (isFields(each) ? typesOf(each) : null));
    return all.some((each) => each === null)
      ? null
      : [...new Set(all.flatMap((each) => each ?? []))];
  }
  if (type === undefined && (only !== undefined || choices !== undefined)) return null;
  const named: readonly unknown[] = Array.isArray(type) ? type : [type];
  const types = named.map((each) => (each === 'integer' ? 'number' : each));
  const known = JSON_TYPES.filter((each) => types.includes(each));
  return known.length === new Set(types).size ? known : null;
}

function textsOf({ const: only, enum: choices }: Fields): readonly string[] | null {
  const all: unknown = choices ?? (only === undefined ? undefined : [only]);
  if (!Array.isArray(all) || all.length === 0) return null;
  return all.every((each) => typeof each === 'string') ? all : null;
}

function isFields(value: unknown): value is Fields {
  return isObject(value);
}
