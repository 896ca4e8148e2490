/** Events that start flows: what a sender says, and what flows say of the events that start them. */
import { isObject } from '../json.ts';
import { OUTCOMES } from './document.ts';
import { readEventMatch } from './event-match.ts';
import type { EventMatch, Scalar } from './event-match.ts';
import { Fields, readId } from './reader.ts';
import { readLabels } from './labels.ts';
import type { Labels } from './labels.ts';
import { below, refuse, refuseSize } from './refuse.ts';
import { didYouMean } from './spelling.ts';
import { described } from './text.ts';
import { checkFinite, weigh } from './weigh.ts';

/** Every flow that the event starts gets a copy. */
export const EVENT_BYTES_MAX: number = 256 * 1024;
/** Flows that one event starts. */
export const EVENT_FLOWS_MAX = 100;
/** Events that start one flow. */
export const FLOW_EVENTS_MAX = 32;

export interface SentEvent {
  readonly name: string;
  /** Chosen by the sender: the same event again starts nothing. Null if it did not. */
  readonly id: string | null;
  readonly data: unknown;
  /** On each job. */
  readonly labels: Labels | undefined;
}

const GRAMMAR = { names: new Set(['data', 'id', 'labels']) };

/** Both come from a client. */
export function readSentEvent(name: unknown, body: unknown): SentEvent {
  const fields = Fields.of(body, '', 'An event', GRAMMAR);
  const data = fields.raw('data') ?? null;
  weigh(data, '/data', 'The data of an event', 0, EVENT_BYTES_MAX);
  checkFinite(data, '/data');
  const labels = fields.raw('labels');
  readLabels(labels, '/labels');
  return {
    name: readUserEvent(name, ''),
    id: fields.name('id') ?? null,
    data,
    labels: labels as Labels | undefined,
  };
}

/** An event that starts a flow, if its data matches. */
export interface StartEvent {
  readonly event: string;
  /** Of none: whatever its data is. */
  readonly match: EventMatch;
}

/** As flows write it. */
export type WrittenStart =
  | string
  | { readonly event: string; readonly match: Readonly<Record<string, Scalar>> };

/** The events that start a flow. One may stand there several times with conditions, of which any suffices. */
export function readEvents(value: unknown, path: string): readonly StartEvent[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    return refuse(
      path,
      `Must be a list of events, not ${described(value)}.`,
      "Write on: ['order.created'].",
    );
  }
  if (value.length > FLOW_EVENTS_MAX) {
    const what = `It names ${value.length} events; the limit is ${FLOW_EVENTS_MAX}.`;
    refuseSize(path, what, 'Send one event for all of them, or define several flows.');
  }
  const starts = Array.from(value, (each: unknown, at) => readStart(each, below(path, at)));
  const known = new Map<string, StartEvent>();
  for (const start of starts) {
    const { event, match } = start;
    const other = known.get(event);
    if (other !== undefined && Math.min(match.length, other.match.length) === 0)
      refuse(path, `The event '${event}' is named twice, and one of the two has no condition.`);
    known.set(event, start);
  }
  return starts;
}

/** The event by its name, or an object with a condition. */
function readStart(value: unknown, path: string): StartEvent {
  if (!isObject(value)) return { event: readEventName(value, path), match: [] };
  const fields = Fields.of(value, path, "An entry of 'on'", START);
  const name = fields.raw('event') ?? fields.missing('event', 'It is the name of the event.');
  const event = readEventName(name, fields.at('event'));
  return { event, match: readEventMatch(fields.raw('match'), fields.at('match')) };
}

const START = { names: new Set(['event', 'match']) };

export function writtenStart({ event, match }: StartEvent): WrittenStart {
  return match.length === 0 ? event : { event, match: Object.fromEntries(match) };
}

/** Events that begin with it are raised by Millrace itself. */
export const OWN_EVENTS = 'millrace.';

function readEventName(value: unknown, path: string): string {
  const name = readId(value, () => path);
  const end = name.startsWith(OWN_EVENTS) ? name.slice(OWN_EVENTS.length) : null;
  if (end === null || OUTCOMES.some((outcome) => end === `job.${outcome}`)) return name;
  const own = OUTCOMES.map((outcome) => `${OWN_EVENTS}job.${outcome}`);
  return refuse(
    path,
    `There is no event '${name}' of Millrace itself.${didYouMean(name, own)}`,
    `They are ${own.join(', ')}.`,
  );
}

/** One that users send. */
export function readUserEvent(value: unknown, path: string): string {
  const name = readId(value, () => path);
  if (!name.startsWith(OWN_EVENTS)) return name;
  return refuse(
    path,
    `The event '${name}' is reserved: names that begin with '${OWN_EVENTS}' are those of Millrace itself.`,
    'Choose another name. Flows and tasks can name such events in `on`.',
  );
}
