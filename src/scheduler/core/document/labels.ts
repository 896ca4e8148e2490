/**
 * Labels: short text by key that a submitter puts on a job, to find it by. A store keeps and indexes each as
 * `key:value`; a key has no colon, so that the two can be separated again.
 */
import { isObject } from '../json.ts';
import { below, refuse } from './refuse.ts';
import { described, printable, wellFormed } from './text.ts';

export const LABELS_MAX = 64;
export const LABEL_KEY_LENGTH_MAX = 63;
export const LABEL_VALUE_LENGTH_MAX = 255;
/** Letters, digits, `_`, `.` and `-`: also the grammar of `label.KEY=VALUE` in search boxes and of flags. */
export const LABEL_KEY = '^[A-Za-z0-9_][A-Za-z0-9_.-]*$';

const KEY = new RegExp(LABEL_KEY, 'u');
const CONTROL = /\p{Cc}/u;

export type Labels = Readonly<Record<string, string>>;

const NONE: readonly string[] = [];

/** As `key:value`, sorted: two documents that mean the same read the same. */
export function readLabels(value: unknown, path: string): readonly string[] {
  if (value === undefined) return NONE;
  if (!isObject(value)) {
    refuse(path, `Labels must be an object of text by key, not ${described(value)}.`);
  }
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  if (entries.length > LABELS_MAX) {
    refuse(path, `${entries.length} labels exceed the limit of ${LABELS_MAX} labels per job.`);
  }
  return entries
    .map(([key, each]) => {
      checkKey(key, below(path, key));
      return `${key}:${readValue(each, below(path, key))}`;
    })
    .toSorted();
}

/** One label to look for, `key:value`. */
export function readLabel(text: string, path: string): string {
  const at = text.indexOf(':');
  if (at <= 0) {
    refuse(
      path,
      `${described(text)} is not a label to look for.`,
      'Write key:value, for instance team:billing.',
    );
  }
  checkKey(text.slice(0, at), path);
  readValue(text.slice(at + 1), path);
  return text;
}

function checkKey(key: string, path: string): void {
  if (key.length <= LABEL_KEY_LENGTH_MAX && KEY.test(key)) return;
  refuse(
    printable(path, 200),
    `${described(key)} is not a valid label key.`,
    `Use 1 to ${LABEL_KEY_LENGTH_MAX} letters, digits and _ . - that start with a letter, a digit or _.`,
  );
}

function readValue(value: unknown, path: string): string {
  if (typeof value !== 'string') {
    refuse(path, `The value of a label must be text, not ${described(value)}.`);
  }
  if (value.length > LABEL_VALUE_LENGTH_MAX) {
    refuse(
      path,
      `The value of the label is ${value.length} characters long; the limit is ${LABEL_VALUE_LENGTH_MAX}.`,
    );
  }
  if (CONTROL.test(value)) {
    refuse(path, `The value ${described(value)} contains a control character.`);
  }
  if (!wellFormed(value)) {
    refuse(path, `The value ${described(value)} contains an unpaired surrogate.`);
  }
  return value;
}

/** Back to what the submitter wrote. */
export function labelsOf(stored: readonly string[]): Labels {
  return Object.fromEntries(
    stored.map((label) => {
      const at = label.indexOf(':');
      return [label.slice(0, at), label.slice(at + 1)];
    }),
  );
}
