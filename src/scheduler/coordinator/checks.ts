/** Checks input from outside before it reaches the core: if the store refused it there, the leader would have to
 * reload its state. */
import {
  MillraceError,
  PRIORITIES,
  SCHEDULE_ID_LENGTH_MAX,
  isId,
  isOccurrenceId,
  parseCapabilities,
  readName,
  readStart,
  utf8Bytes,
} from '../core/index.ts';
import type { Instant, NodeOffer, Priority, Settings } from '../core/index.ts';
import type { PollRequest } from '../contract/index.ts';
import { payloadFault } from './payload-checks.ts';
import { cleanText } from './text.ts';

export function checkId(id: string, kind: string): void {
  if (isId(id)) return;
  throw new MillraceError({
    code: 'bad_input',
    what: `${JSON.stringify(cleanText(id).slice(0, 80))} is not a valid ${kind} id.`,
    todo: 'Use up to 200 letters, digits and _ . : @ + = -',
  });
}

export function isNewJobId(id: string): boolean {
  return isId(id) && !isOccurrenceId(id);
}

/** An id that a client chooses for a new job. */
export function checkNewJobId(id: string): void {
  checkId(id, 'job');
  if (!isOccurrenceId(id)) return;
  throw new MillraceError({
    code: 'bad_input',
    what: `'${id}' is not a valid id for this job: ids that end in @TIME.NUMBER belong to schedules.`,
    todo: 'Choose another id.',
  });
}

export function checkNewScheduleId(id: string): void {
  checkId(id, 'schedule');
  if (id.length <= SCHEDULE_ID_LENGTH_MAX) return;
  throw new MillraceError({
    code: 'bad_input',
    what: `The id of the schedule has ${id.length} characters; the limit is ${SCHEDULE_ID_LENGTH_MAX}.`,
    why: 'The ids of its jobs are derived from it.',
    todo: 'Choose a shorter id.',
  });
}

/** More than any node has; a typing mistake, not a machine. */
const SLOTS_MAX = 100_000;

export function checkedOffer(offer: NodeOffer): NodeOffer {
  checkId(offer.id, 'node');
  checkId(offer.sessionId, 'session');
  for (const executor of offer.executors) checkId(executor, 'executor');
  for (const field of ['slots', 'prefetch'] as const) {
    const count = offer[field];
    if (Number.isSafeInteger(count) && count >= 0 && count <= SLOTS_MAX) continue;
    throw new MillraceError({
      code: 'bad_input',
      path: `/${field}`,
      what: `A node's ${field} must be a whole number from 0 to ${SLOTS_MAX}, not ${count}.`,
    });
  }
  return {
    ...offer,
    capabilities: parseCapabilities(offer.capabilities, '/capabilities'),
    address: offer.address === null ? null : cleanText(offer.address),
    version: cleanText(offer.version),
  };
}

/** A poll that is not a number could never be hung up. */
export function checkPoll({ pollNo, capacity }: Pick<PollRequest, 'pollNo' | 'capacity'>): void {
  if (Number.isSafeInteger(pollNo) && Number.isSafeInteger(capacity)) return;
  throw new MillraceError({
    code: 'bad_input',
    what: `A poll has a whole number and a whole capacity, not ${pollNo} and ${capacity}.`,
  });
}

export function checkPriority(value: unknown): Priority {
  const priority = PRIORITIES.find((each) => each === value);
  if (priority !== undefined) return priority;
  throw new MillraceError({
    code: 'bad_input',
    path: '/priority',
    what: 'The priority must be 0, 1, 2 or 3.',
    todo: '0 is urgent, 3 is low.',
  });
}

/** Null for now. */
export function checkRunAt(value: unknown): Instant | null {
  if (value === 'now') return null;
  if (value !== undefined) return readStart(value, () => '/runAt');
  const what = 'The time to start at is missing.';
  const todo = "Give runAt, such as '2026-11-15T02:00:00Z' or 'now'.";
  throw new MillraceError({ code: 'bad_input', path: '/runAt', what, todo });
}

/** The stored form of a signal: its value, in an object. `body` is JSON text. */
export function wrappedSignal(
  name: string,
  body: string,
  signalId: string,
  { signalBytesMax }: Settings,
): string {
  if (!isId(name)) {
    throw new MillraceError({
      code: 'bad_input',
      what: `${JSON.stringify(cleanText(name).slice(0, 80))} is not a valid signal name.`,
      todo: 'Use up to 200 letters, digits and _ . : @ + = -',
    });
  }
  checkId(signalId, 'signal');
  const wrapped = `{"value":${body}}`;
  if (wrapped.length > signalBytesMax || utf8Bytes(wrapped) > signalBytesMax) {
    throw new MillraceError({
      code: 'too_large',
      what: `The signal is ${utf8Bytes(wrapped)} bytes; the limit is ${signalBytesMax}.`,
      todo: 'Store the data elsewhere, and send its location.',
    });
  }
  const fault = payloadFault(body, signalBytesMax);
  if (fault === null) return wrapped;
  throw new MillraceError({ code: 'bad_input', what: `The value of the signal ${fault}.` });
}

/** Of text that nobody has looked at. */
export function parsedDocument(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new MillraceError({ code: 'bad_input', what: 'The document is not valid JSON.', cause });
  }
}

/** Of a request for a query, before the planner reads the rest of it. */
export function idempotencyKeyIn(request: unknown): string | null {
  const isObject = typeof request === 'object' && request !== null;
  const key = isObject && 'idempotencyKey' in request ? request.idempotencyKey : null;
  if (typeof key !== 'string') return null;
  // As in a document: the store is asked for it, and keeps it whatever the planner makes of it.
  return readName(key, () => '/idempotencyKey');
}
