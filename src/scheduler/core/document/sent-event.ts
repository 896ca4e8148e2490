/** Events that start flows: what a sender says, and what flows say of the events that start them. */
import { OUTCOMES } from './document.ts';
import { Fields, readId } from './reader.ts';
import { readLabels } from './labels.ts';
import type { Labels } from './labels.ts';
import { below, refuse, refuseSize } from './refuse.ts';
import { didYouMean } from './spelling.ts';
import { described } from './text.ts';
import { weigh } from './weigh.ts';

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
  const labels = fields.raw('labels');
  readLabels(labels, '/labels');
  return {
    name: readUserEvent(name, ''),
    id: fields.name('id') ?? null,
    data,
    labels: labels as Labels | undefined,
  };
}

/** The events that start a flow; each once. */
export function readEvents(value: unknown, path: string): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    return refuse(
      path,
      `Must be a list of event names, not ${described(value)}.`,
      "Write on: ['order.created'].",
    );
  }
  if (value.length > FLOW_EVENTS_MAX) {
    const what = `It names ${value.length} events; the limit is ${FLOW_EVENTS_MAX}.`;
    refuseSize(path, what, 'Send one event for all of them, or define several flows.');
  }
  const names = Array.from(value, (each: unknown, at) => readEventName(each, below(path, at)));
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) refuse(path, `The event '${twice}' is named twice.`);
  return names;
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
