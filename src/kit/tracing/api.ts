/**
 * The user's OpenTelemetry, if there is one. Millrace brings none: `@opentelemetry/api` is an optional peer, because an
 * API that is newer than the one that an SDK was registered with sees nothing of it. So the user's own copy is used.
 * Its types stay inside of this folder: a program that does not trace compiles without them.
 */
import { createRequire } from 'node:module';
import type * as Api from '@opentelemetry/api';

/** Where every copy of the API of this major version keeps what was registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

let loaded: typeof Api | null = null;
let isMissing = false;

/** Null until somebody in this thread has registered a tracer provider. This is asked all the time: as long as nobody
 * has, it costs one look at a field. */
export function tracingApi(): typeof Api | null {
  const registered = (globalThis as { [REGISTERED]?: { readonly trace?: unknown } })[REGISTERED];
  if (registered?.trace === undefined || isMissing) return null;
  loaded ??= load();
  return loaded;
}

function load(): typeof Api | null {
  try {
    return createRequire(import.meta.url)('@opentelemetry/api') as typeof Api;
  } catch {
    // Registered by a copy that cannot be found from here.
    isMissing = true;
    return null;
  }
}
