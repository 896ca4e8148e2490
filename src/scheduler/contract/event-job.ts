/** Jobs that events start. */
import { createHash } from 'node:crypto';
import type { JobId } from '../core/index.ts';

const DIGITS = 32;

/** The job of an event with an id: one for each flow, however often the event is sent. */
export function eventJobId(event: string, id: string, flow: string): JobId {
  const text = JSON.stringify(['event', event, id, flow]);
  return createHash('sha256').update(text).digest('hex').slice(0, DIGITS) as JobId;
}
