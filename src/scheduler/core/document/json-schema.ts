/**
 * Checks a value against a JSON Schema (2020-12) that somebody else has written, before a job is made of it. The schema
 * of the flow itself, on a worker, decides; this check exists to answer a wrong input at once, with its path. So it
 * evaluates what is cheap and certain, and lets everything else pass: unknown keywords, `format`, and `pattern`, with
 * which one worker could make the leader hang.
 */
import { isObject } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { below } from './refuse.ts';
import { pointedAt, pointerTokens } from './pointer.ts';
import { described } from './text.ts';

export interface SchemaFault {
  readonly path: string;
  readonly what: string;
}

/** Values looked at, over all alternatives: nested `anyOf` would multiply them otherwise. */
const VISITS_MAX = 100_000;
const DEPTH_MAX = 200;

/** The first thing that is wrong; null if nothing is, or if that is not certain. */
export function schemaFault(schema: JsonObject, value: Json, path = ''): SchemaFault | null {
  return new Check(schema).fault(schema, value, path, 0);
}

class Check {
  readonly #root: JsonObject;
  #visits = 0;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  fault(given: Json | undefined, value: Json, path: string, depth: number): SchemaFault | null {
    this.#visits += 1;
    if (given === false) return { path, what: 'There must be nothing here.' };
    if (!isObject(given) || depth > DEPTH_MAX || this.#visits > VISITS_MAX) return null;
    const schema = given;
    return (
      this.#refFault(schema, value, path, depth) ??
      typeFault(schema, value, path) ??
      constFault(schema, value, path) ??
      numberFault(schema, value, path) ??
      sizeFault(schema, value, path) ??
      this.#objectFault(schema, value, path, depth) ??
      this.#listFault(schema, value, path, depth) ??
      this.#combinedFault(schema, value, path, depth)
    );
  }

  /** References into the same document only. */
  #refFault({ $ref }: JsonObject, value: Json, path: string, depth: number): SchemaFault | null {
    if (typeof $ref !== 'string' || !$ref.startsWith('#')) return null;
    const tokens = pointerTokens($ref.slice(1));
    return tokens === null
      ? null
      : this.fault(pointedAt(this.#root, tokens), value, path, depth + 1);
  }

  #objectFault(schema: JsonObject, value: Json, path: string, depth: number): SchemaFault | null {
    if (!isObject(value)) return null;
    const { required, properties, additionalProperties } = schema;
    for (const name of Array.isArray(required) ? (required as readonly Json[]) : []) {
      if (typeof name === 'string' && !Object.hasOwn(value, name))
        return { path: below(path, name), what: `The field '${name}' is missing.` };
    }
    const known = isObject(properties) ? properties : {};
    for (const [name, each] of Object.entries(value)) {
      const isKnown = Object.hasOwn(known, name);
      if (!isKnown && additionalProperties === false && schema['patternProperties'] === undefined)
        return { path: below(path, name), what: `There is no field '${name}'.` };
      const inner = isKnown ? known[name] : additionalProperties;
      const fault = this.fault(inner, each, below(path, name), depth + 1);
      if (fault !== null) return fault;
    }
    return null;
  }

  #listFault(schema: JsonObject, value: Json, path: string, depth: number): SchemaFault | null {
    if (!Array.isArray(value)) return null;
    const { prefixItems, items } = schema;
    const first = Array.isArray(prefixItems) ? (prefixItems as readonly Json[]) : [];
    for (const [at, each] of (value as readonly Json[]).entries()) {
      const fault = this.fault(
        at < first.length ? first[at] : items,
        each,
        below(path, at),
        depth + 1,
      );
      if (fault !== null) return fault;
    }
    return null;
  }

  #combinedFault(schema: JsonObject, value: Json, path: string, depth: number): SchemaFault | null {
    const { allOf, anyOf, oneOf } = schema;
    for (const each of Array.isArray(allOf) ? (allOf as readonly Json[]) : []) {
      const fault = this.fault(each, value, path, depth + 1);
      if (fault !== null) return fault;
    }
    // That no second alternative of `oneOf` fits is not certain when keywords are left out.
    for (const list of [anyOf, oneOf]) {
      if (!Array.isArray(list) || list.length === 0) continue;
      const faults = (list as readonly Json[]).map((each) =>
        this.fault(each, value, path, depth + 1),
      );
      if (faults.includes(null)) continue;
      // The one that went farthest into the value is most likely the one that was meant.
      return (faults as readonly SchemaFault[]).reduce((best, each) =>
        each.path.length > best.path.length ? each : best,
      );
    }
    return null;
  }
}

function typeFault({ type }: JsonObject, value: Json, path: string): SchemaFault | null {
  const types = (Array.isArray(type) ? type : [type]) as readonly (Json | undefined)[];
  if (type === undefined || types.some((each) => typeof each !== 'string' || isOf(each, value)))
    return null;
  return { path, what: `Must be ${types.map(String).join(' or ')}, not ${described(value)}.` };
}

/** An unknown type fits everything. */
function isOf(type: string, value: Json): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'boolean':
    case 'string':
    case 'number':
      return typeof value === type;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    default:
      return true;
  }
}

function constFault(schema: JsonObject, value: Json, path: string): SchemaFault | null {
  const { enum: choices } = schema;
  const allowed = Object.hasOwn(schema, 'const') ? [schema['const'] as Json] : choices;
  if (!Array.isArray(allowed)) return null;
  // Only plain values are compared; whether two objects are the same is left to the worker.
  const list = allowed as readonly Json[];
  if (list.some((each) => each === value || (typeof each === 'object' && each !== null)))
    return null;
  const shown = list.slice(0, 10).map((each) => JSON.stringify(each));
  return { path, what: `Must be one of ${shown.join(', ')}, not ${described(value)}.` };
}

function numberFault(schema: JsonObject, value: Json, path: string): SchemaFault | null {
  if (typeof value !== 'number') return null;
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: under } = schema;
  const must = (words: string): SchemaFault => ({ path, what: `Must be ${words}, not ${value}.` });
  if (typeof minimum === 'number' && value < minimum) return must(`at least ${minimum}`);
  if (typeof maximum === 'number' && value > maximum) return must(`at most ${maximum}`);
  if (typeof above === 'number' && value <= above) return must(`more than ${above}`);
  if (typeof under === 'number' && value >= under) return must(`less than ${under}`);
  return null;
}

function sizeFault(schema: JsonObject, value: Json, path: string): SchemaFault | null {
  const [min, max, size, unit] =
    typeof value === 'string'
      ? [schema['minLength'], schema['maxLength'], value.length, 'characters']
      : Array.isArray(value)
        ? [schema['minItems'], schema['maxItems'], value.length, 'items']
        : [undefined, undefined, 0, ''];
  if (typeof min === 'number' && size < min)
    return { path, what: `Must have at least ${min} ${unit}, and has ${size}.` };
  // Characters outside the basic plane count as two here: a text that is too long is left to the worker.
  if (typeof max === 'number' && size > (typeof value === 'string' ? max * 2 : max))
    return { path, what: `Must have at most ${max} ${unit}, and has ${size}.` };
  return null;
}
