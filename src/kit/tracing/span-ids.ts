/**
 * Ids for spans that several processes must agree on. The API of OpenTelemetry lets nobody choose an id, but an SDK asks
 * an id generator for each: this one hands out the id that was prepared for the span, and random ids otherwise.
 */
import { createHash, randomFillSync } from 'node:crypto';

export interface PreparedIds {
  readonly spanId: string;
  /** Used if the span is the first of its trace. */
  readonly traceId: string;
}

interface SharedIds {
  isUsed: boolean;
  prepared: PreparedIds | null;
}

/** The program that sets up tracing may have loaded this file from another folder. */
const SHARED = Symbol.for('millrace.span-ids');
const holder = globalThis as { [SHARED]?: SharedIds };
const ids: SharedIds = (holder[SHARED] ??= { isUsed: false, prepared: null });

/**
 * An `IdGenerator` for `new BasicTracerProvider({ idGenerator: new SpanIds() })`. With it the span of a job has the same
 * id whichever process emits it, and the spans of its tasks can name it as their parent before it exists.
 */
export class SpanIds {
  constructor() {
    ids.isUsed = true;
  }

  generateTraceId(): string {
    return ids.prepared?.traceId ?? random(16);
  }

  generateSpanId(): string {
    return ids.prepared?.spanId ?? random(8);
  }
}

/** Whether ids can be chosen in this thread. */
export function canChooseIds(): boolean {
  return ids.isUsed;
}

/** `start` starts one span, which gets these ids. */
export function withIds<T>(prepared: PreparedIds | null, start: () => T): T {
  ids.prepared = prepared;
  try {
    return start();
  } finally {
    ids.prepared = null;
  }
}

/** Hexadecimal digits that depend on nothing but the parts. */
export function derivedId(bytes: 8 | 16, parts: readonly (string | number)[]): string {
  const digits = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return digits.slice(0, bytes * 2);
}

/** From a pool: a call for each id would cost more than the rest of the span. */
const pool: Buffer = Buffer.alloc(4_096);
let taken = pool.length;

function random(bytes: number): string {
  if (taken + bytes > pool.length) {
    randomFillSync(pool);
    taken = 0;
  }
  taken += bytes;
  const id = pool.toString('hex', taken - bytes, taken);
  // Zeroes alone are not valid.
  return /[^0]/.test(id) ? id : random(bytes);
}
