/** Flags that say something of a job. */
import type { Labels } from '../scheduler/core/index.ts';
import { parseDuration } from '../kit/index.ts';
import { wrongUse } from './server-call.ts';

/** For a flag that may be given several times. */
export function collected(value: string, all: readonly string[] = []): readonly string[] {
  return [...all, value];
}

/** `key=value`, each. What the key and the value may be is for the reader of documents to say. */
export function labelOption(given: readonly string[]): Labels {
  const labels = given.map((text): readonly [string, string] => {
    const at = text.indexOf('=');
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
    throw wrongUse(`'${text}' is not a label.`, 'Write --label key=value.');
  });
  return Object.fromEntries(labels);
}

/** A duration counts from now; everything else is left for the reader of documents. */
export function momentOption(text: string): string {
  const ms = parseDuration(text);
  return ms === null || ms < 0 ? text : new Date(Date.now() + ms).toISOString();
}
