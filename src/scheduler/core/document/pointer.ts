/** JSON Pointer, RFC 6901. */
import type { Json, JsonObject } from '../json.ts';

/** The reference tokens of a pointer, or null when it is malformed. */
export function pointerTokens(pointer: string): readonly string[] | null {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) return null;
  if (/~(?![01])/.test(pointer)) return null;
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

const INDEX = /^(?:0|[1-9][0-9]*)$/;

/** What the pointer names, or undefined when there is no such place. */
export function pointedAt(value: Json, tokens: readonly string[]): Json | undefined {
  let here: Json | undefined = value;
  for (const token of tokens) {
    if (here === undefined || here === null || typeof here !== 'object') return undefined;
    if (Array.isArray(here)) {
      here = INDEX.test(token) ? (here as readonly Json[])[Number(token)] : undefined;
    } else {
      // Own fields only: `/constructor` must not find what every object inherits.
      here = Object.hasOwn(here, token) ? (here as JsonObject)[token] : undefined;
    }
  }
  return here;
}
