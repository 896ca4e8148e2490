/** The events that cancel the jobs of a flow or a task, by what their input has in common with the event. */
import {
  INPUT_GAP,
  fieldIn,
  isMillraceError,
  isScalar,
  readEventField,
  readUserEvent,
} from '../../scheduler/core/index.ts';
import type { Json, JsonObject } from '../../scheduler/core/index.ts';
import { refuse, refuseUnknownFields, shown } from './fault.ts';
import { pointerOf } from './pointer.ts';

/** An event that cancels the jobs with the same value in a field. */
export interface CancelEvent {
  readonly event: string;
  /**
   * A field that event and input have both, or several of them, which must all be equal. Where the names differ: an
   * object of fields of the event and those of the input, `{ 'order.id': 'id' }`.
   */
  readonly match: string | readonly string[] | Readonly<Record<string, string>>;
}

/** Fields of the event, with those of the input. */
interface Cancel {
  readonly event: string;
  readonly fields: readonly (readonly [event: string, input: string])[];
}

const ENTRIES_MAX = 8;

export function checkedCancels(
  owner: string,
  given: unknown,
  takesInput: boolean,
): readonly Cancel[] {
  if (given === undefined) return [];
  const about = `${owner}, 'cancelOn'`;
  if (!Array.isArray(given) || given.length > ENTRIES_MAX) {
    const todo = "Write cancelOn: [{ event: 'order.cancelled', match: 'id' }].";
    return refuse(about, `it must be a list of up to ${ENTRIES_MAX} events.`, todo);
  }
  if (given.length > 0 && !takesInput)
    refuse(owner, 'it takes no input that an event could match.', "Give it a schema in 'input'.");
  return given.map((each: unknown) => {
    if (typeof each !== 'object' || each === null)
      return refuse(about, `an event must be an object, not ${shown(each)}.`);
    const { event, match } = each as CancelEvent;
    refuseUnknownFields(about, each, ['event', 'match']);
    try {
      const fields = fieldsOf(match).map(
        ([one, other]) => [readEventField(one, ''), readEventField(other, '')] as const,
      );
      if (fields.length === 0 || fields.length > ENTRIES_MAX)
        refuse(about, `'match' must name 1 to ${ENTRIES_MAX} fields.`);
      return { event: readUserEvent(event, ''), fields };
    } catch (error) {
      if (isMillraceError(error)) refuse(about, error.what, error.todo, error);
      throw error;
    }
  });
}

function fieldsOf(match: CancelEvent['match']): readonly (readonly [unknown, unknown])[] {
  if (Array.isArray(match)) return match.map((field: unknown) => [field, field] as const);
  if (typeof match === 'object' && match !== null) return Object.entries(match);
  return [[match, match]];
}

/** The field `cancelOn` of a document. A job whose input lacks a field is not cancelled by that event. */
export function cancelsFor(cancels: readonly Cancel[], input: Json, about: string): JsonObject {
  const cancelOn = cancels.flatMap(({ event, fields }) => {
    const match = fields.map(([one, other]) => [one, fieldIn(input, other)] as const);
    if (match.some(([, value]) => value === undefined || value === null)) return [];
    for (const [at, [, value]] of match.entries()) {
      if (isScalar(value)) continue;
      const what = `the field ${fields[at]?.[1]} of the input is not text or a number.`;
      refuse(`${about}, 'cancelOn'`, what, 'Events are compared by single values.');
    }
    return [{ event, match: Object.fromEntries(match) as JsonObject }];
  });
  return cancelOn.length === 0 ? {} : { cancelOn };
}

/** As it is published, with gaps that the input fills. */
export function cancelsTemplate(cancels: readonly Cancel[]): JsonObject {
  if (cancels.length === 0) return {};
  const gap = (field: string): JsonObject => ({ [INPUT_GAP]: pointerOf(field.split('.')) });
  const cancelOn = cancels.map(({ event, fields }) => ({
    event,
    match: Object.fromEntries(fields.map(([one, other]) => [one, gap(other)])),
  }));
  return { cancelOn };
}
