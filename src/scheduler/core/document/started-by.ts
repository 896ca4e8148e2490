/** Looking for jobs by what has started them: written as `event/NAME`, `event/NAME/ID`, `job/ID` or `job/ID/TASK`. */
import { isId } from '../ids.ts';
import { isStorableText } from '../storable.ts';
import type { StartedBy } from './job-options.ts';
import { refuse } from './refuse.ts';
import { described } from './text.ts';

export const STARTER_LENGTH_MAX = 1_000;

interface Starter {
  readonly kind: 'event' | 'job';
  readonly name: string;
  /** The event's id, or the task of the job; null for any. */
  readonly of: string | null;
}

export function readStarter(text: unknown, path: string): string {
  if (typeof text === 'string' && starterIn(text) !== null) return text;
  return refuse(
    path,
    `${described(text)} does not say what has started a job.`,
    'Write event/NAME, event/NAME/ID, job/ID or job/ID/TASK.',
  );
}

function starterIn(text: string): Starter | null {
  if (text.length > STARTER_LENGTH_MAX || !isStorableText(text)) return null;
  const [, kind, name = '', of = null] = /^(event|job)\/([^/]*)(?:\/(.+))?$/s.exec(text) ?? [];
  return isId(name) ? { kind: kind as Starter['kind'], name, of } : null;
}

/** What the options of such a job have in their text. Nothing else can have it: within text, quotes are escaped. */
export function starterPart(text: string): string {
  const starter = starterIn(text);
  if (starter === null || starter.of === null) return `"startedBy":${starterKey(text)},`;
  const second = starter.kind === 'event' ? 'id' : 'task';
  return `"startedBy":${starterKey(text)},"${second}":${JSON.stringify(starter.of)}}`;
}

/** The part of it that stores may have an index of: without the id of the event, or the task. */
export function starterKey(text: string): string {
  const { kind, name } = starterIn(text) ?? { kind: 'job', name: '' };
  return `{"${kind}":"${name}"`;
}

export function isStartedAs(by: StartedBy | null, text: string): boolean {
  const starter = starterIn(text);
  if (by === null || starter === null) return false;
  const [kind, name, of] =
    'event' in by ? (['event', by.event, by.id] as const) : (['job', by.job, by.task] as const);
  if (kind !== starter.kind || name !== starter.name) return false;
  return starter.of === null || starter.of === of;
}
