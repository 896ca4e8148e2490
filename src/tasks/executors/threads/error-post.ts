/**
 * Errors between two threads. An error keeps its name, message, stack, cause and plain fields; one that comes back to
 * the thread where it was made is the same object again, so that `instanceof` and identity hold there. Each side of
 * an attempt has its own instance.
 */
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { ErrorParts } from '../../../scheduler/core/index.ts';

export type PackedError =
  /** The receiver's own, by its number there. */
  | { readonly kind: 'yours'; readonly no: number }
  | { readonly kind: 'error'; readonly no: number; readonly error: ErrorShape }
  /** A thrown value need not be an error. */
  | { readonly kind: 'value'; readonly value: unknown };

interface ErrorShape {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly millrace: ErrorParts | null;
  readonly cause: PackedError | null;
}

/** A chain that is longer than this, or a circle, is cut. */
const CAUSES_MAX = 8;

export class ErrorPost {
  readonly #mine: Map<number, object> = new Map();
  readonly #theirs: WeakMap<object, number> = new WeakMap();

  pack(error: unknown, depth: number = 0): PackedError {
    const theirs =
      typeof error === 'object' && error !== null ? this.#theirs.get(error) : undefined;
    if (theirs !== undefined) return { kind: 'yours', no: theirs };
    if (!(error instanceof Error)) return { kind: 'value', value: sendable(error) };
    const no = this.#mine.size + 1;
    this.#mine.set(no, error);
    const hasCause = error.cause !== undefined && depth < CAUSES_MAX;
    const cause = hasCause ? this.pack(error.cause, depth + 1) : null;
    return { kind: 'error', no, error: { ...shapeOf(error), cause } };
  }

  unpack(packed: PackedError): unknown {
    switch (packed.kind) {
      case 'yours':
        return this.#mine.get(packed.no);
      case 'value':
        return packed.value;
      case 'error': {
        const error = this.#rebuilt(packed.error);
        this.#theirs.set(error, packed.no);
        return error;
      }
    }
  }

  #rebuilt({ name, message, stack, fields, millrace, cause }: ErrorShape): Error {
    const options = cause === null ? undefined : { cause: this.unpack(cause) };
    const error =
      millrace === null
        ? Object.assign(new Error(message, options), fields)
        : new MillraceError({ ...millrace, ...options });
    if (millrace === null) Object.defineProperty(error, 'name', { value: name });
    Object.defineProperty(error, 'stack', { value: stack });
    return error;
  }
}

/** Even reading may throw: what was thrown can be any object. */
function shapeOf(error: Error): Omit<ErrorShape, 'cause'> {
  try {
    const isOurs = error instanceof MillraceError;
    return {
      name: text(error.name),
      message: text(error.message),
      stack: text(error.stack),
      fields: isOurs ? {} : plainFields(error),
      millrace: isOurs ? partsOf(error) : null,
    };
  } catch {
    const message = 'an error that cannot be read';
    return { name: 'Error', message, stack: '', fields: {}, millrace: null };
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : typeof value;
}

function partsOf(error: MillraceError): ErrorParts {
  const { code, what, why, todo, path, leader } = error;
  const given = Object.entries({ why, todo, path, leader }).filter(
    ([, part]) => part !== undefined,
  );
  return { code, what, ...Object.fromEntries(given) };
}

function plainFields(error: Error): Readonly<Record<string, unknown>> {
  const fields = Object.entries(error).filter(
    ([name, value]) => !['name', 'message', 'stack', 'cause'].includes(name) && isSendable(value),
  );
  return Object.fromEntries(fields);
}

function isSendable(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

function sendable(value: unknown): unknown {
  if (isSendable(value)) return value;
  return `the handler threw a ${typeof value} that cannot be sent between threads`;
}
