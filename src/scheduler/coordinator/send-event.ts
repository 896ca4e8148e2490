/** An event: one job for each flow that it starts. All of them are submitted together. */
import { EVENT_FLOWS_MAX, MillraceError, didYouMean, readSentEvent } from '../core/index.ts';
import { eventJobId } from '../contract/index.ts';
import type { EventReply, JobService, SendOptions } from '../contract/index.ts';
import type { KnownFlows } from './known-flows.ts';

export interface SendPort {
  readonly flows: Pick<KnownFlows, 'listening' | 'events'>;
  readonly submitAll: JobService['submitAll'];
}

/** Name and body are unchecked. A flow that refuses the data does not affect the others. */
export async function sendEvent(
  name: unknown,
  body: unknown,
  { newId, trace = null }: SendOptions,
  { flows, submitAll }: SendPort,
): Promise<EventReply> {
  const { name: event, data, labels, ...sent } = readSentEvent(name, body);
  const id = sent.id ?? newId();
  const listening = flows.listening(event);
  if (listening.length === 0) return { event, id, jobs: [], note: nobody(event, flows.events()) };
  if (listening.length > EVENT_FLOWS_MAX) throw tooMany(event, listening.length);
  const outcomes = await submitAll(
    listening.map(({ flow, takesInput }) => ({
      document: { flow, ...(takesInput ? { input: data } : {}), ...(labels && { labels }) },
      ...(sent.id === null
        ? { jobId: newId(), isFresh: true }
        : { jobId: eventJobId(event, id, flow) }),
      trace,
      startedBy: { event, id },
    })),
  );
  const jobs = listening.flatMap(({ flow }, at) => {
    const outcome = outcomes[at];
    return outcome === undefined ? [] : [{ flow, outcome }];
  });
  return { event, id, jobs };
}

function nobody(event: string, known: readonly string[]): string {
  return `No flow is started by '${event}'.${didYouMean(event, known)}`;
}

function tooMany(event: string, count: number): MillraceError {
  return new MillraceError({
    code: 'too_large',
    what: `The event '${event}' would start ${count} flows; the limit is ${EVENT_FLOWS_MAX}.`,
    why: 'Each of them gets a copy of its data, in one transaction.',
    todo: 'Let one flow call others, or use several events.',
  });
}
