import { fieldIn, isMatched } from '../document/event-match.ts';
import type { EventMatch } from '../document/event-match.ts';
import type { Json } from '../json.ts';
import type { Slot } from '../task/table.ts';
import { awaitedEvent } from './waits.ts';
import type { AwaitedSignal, AwaitedThings } from './waits.ts';

/** What is meant by events of a name. */
export interface Listener<T> {
  readonly event: string;
  readonly match: EventMatch;
  readonly what: T;
}

type Values<What> = Map<string, Set<Listener<What>>>;

const NONE: readonly never[] = [];

/**
 * Who listens to events, and to which: found by the value of one field, however many listen for other values of it. One
 * who listens to nothing costs nothing.
 */
export class EventIndex<Who, What> {
  /** By event, then by the field that is looked at first, then by its value as JSON text. */
  readonly #events: Map<string, Map<string, Values<What>>> = new Map();
  readonly #listeners: Map<Who, readonly Listener<What>[]> = new Map();

  /** How many listen. */
  get size(): number {
    return this.#listeners.size;
  }

  /** The events that somebody listens to. */
  get names(): readonly string[] {
    return [...this.#events.keys()];
  }

  listeners(who: Who): readonly Listener<What>[] {
    return this.#listeners.get(who) ?? NONE;
  }

  /** These, and no others that it has listened to before. */
  book(who: Who, listeners: readonly Listener<What>[]): void {
    if (this.#listeners.size > 0) {
      for (const each of this.listeners(who)) this.#remove(each);
      this.#listeners.delete(who);
    }
    if (listeners.length === 0) return;
    this.#listeners.set(who, listeners);
    for (const each of listeners) this.#add(each);
  }

  /** All that is meant by the event. */
  *find(event: string, data: Json): Generator<What> {
    for (const [field, values] of this.#events.get(event) ?? NONE) {
      const value = field === '' ? null : fieldIn(data, field);
      if (value === undefined) continue;
      for (const { match, what } of values.get(JSON.stringify(value)) ?? NONE) {
        if (isMatched(match, data)) yield what;
      }
    }
  }

  #add(listener: Listener<What>): void {
    const { event, match } = listener;
    const [field, value] = placeOf(match);
    const fields = entry(this.#events, event, () => new Map<string, Values<What>>());
    const values = entry(fields, field, (): Values<What> => new Map());
    entry(values, value, () => new Set<Listener<What>>()).add(listener);
  }

  #remove(listener: Listener<What>): void {
    const { event, match } = listener;
    const [field, value] = placeOf(match);
    const fields = this.#events.get(event);
    const values = fields?.get(field);
    const all = values?.get(value);
    all?.delete(listener);
    if (all?.size === 0) values?.delete(value);
    if (values?.size === 0) fields?.delete(field);
    if (fields?.size === 0) this.#events.delete(event);
  }
}

/** No field has the empty name. */
function placeOf([first]: EventMatch): readonly [string, string] {
  return first === undefined ? ['', 'null'] : [first[0], JSON.stringify(first[1])];
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** A task, and the event that it waits for, asleep or awake. */
export interface EventWait {
  readonly slot: Slot;
  readonly wanted: AwaitedSignal;
}

export function eventWaitsIn(
  slot: Slot,
  things: AwaitedThings | null,
): readonly Listener<EventWait>[] {
  if (things === null) return NONE;
  const { signals, events = NONE } = things;
  const awaited = events.length === 0 ? signals : [...signals, ...events];
  return awaited.flatMap((wanted) => {
    const event = wanted.isTaken === true ? null : awaitedEvent(wanted.name);
    return event === null ? [] : [{ event, match: wanted.match ?? NONE, what: { slot, wanted } }];
  });
}
