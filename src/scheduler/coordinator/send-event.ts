/**
 * An event: one job for each flow that it starts, tasks that wait for it go on, jobs that name it are cancelled. All of it
 * is committed before the answer. Jobs that exist are woken or cancelled before others are made.
 */
import {
  EVENT_FLOWS_MAX,
  MillraceError,
  didYouMean,
  eventInput,
  isMillraceError,
  readSentEvent,
} from '../core/index.ts';
import type { Ask, EventFate, Json, Raised, ReplyBody, SchedulerState } from '../core/index.ts';
import { eventJobId } from '../contract/index.ts';
import type { EventReply, JobService, SendOptions } from '../contract/index.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { KnownFlows } from './known-flows.ts';

export interface SendPort {
  readonly flows: Pick<KnownFlows, 'listening' | 'naming' | 'events'>;
  readonly dispatcher: Pick<Dispatcher, 'ask' | 'peek'>;
}

/** Of woken tasks, and of cancelled jobs. */
const LISTED_MAX = 1_000;

/** Name and body are unchecked. A flow that refuses the data does not affect the others. */
export async function sendEvent(
  name: unknown,
  body: unknown,
  { newId, trace = null }: SendOptions,
  { flows, dispatcher }: SendPort,
  submitAll: JobService['submitAll'],
): Promise<EventReply> {
  const { name: event, data, labels, ...sent } = readSentEvent(name, body);
  const id = sent.id ?? newId();
  const listening = flows.listening(event, () => data as Json);
  if (listening.length > EVENT_FLOWS_MAX) throw tooMany(event, listening.length);
  // In this order, and in one batch where no id has to be looked up.
  const raising = raiseAll(dispatcher, { name: event, id, data: JSON.stringify(data) });
  // Refused before anything has started: an event without an id of its own cannot be repeated.
  if (!dispatcher.peek(({ isComplete }) => isComplete)) await raising;
  const submitting = submitAll(
    listening.map((flow) => ({
      document: { flow: flow.name, ...eventInput(flow, data), ...(labels && { labels }) },
      ...(sent.id === null
        ? { jobId: newId(), isFresh: true }
        : { jobId: eventJobId(event, id, flow.name) }),
      trace,
      startedBy: { event, id },
    })),
  );
  const [fate, outcomes] = await Promise.all([raising, submitting]);
  const jobs = listening.flatMap(({ name: flow }, at) => {
    const outcome = outcomes[at];
    if (outcome === undefined) return [];
    if (isMillraceError(outcome) || outcome.changed) return [{ flow, outcome }];
    const isOwn = outcome.jobId === eventJobId(event, id, flow);
    return [{ flow, outcome, because: isOwn ? ('sent_before' as const) : ('singleton' as const) }];
  });
  const note =
    jobs.length + fate.woken.length + fate.cancelled.length + fate.full.length === 0
      ? nobody(event, flows, dispatcher.peek(awaitedEvents))
      : overfull(fate);
  const unlisted = [fate.woken, fate.cancelled]
    .map(({ length }) => Math.max(0, length - LISTED_MAX))
    .reduce((sum, count) => sum + count);
  return {
    event,
    id,
    jobs,
    woken: fate.woken.slice(0, LISTED_MAX),
    cancelled: fate.cancelled.slice(0, LISTED_MAX),
    ...(unlisted > 0 && { unlisted }),
    ...(note !== null && { note }),
  };
}

function awaitedEvents({ eventWaits, cancels }: SchedulerState): readonly string[] {
  return [...eventWaits.names, ...cancels.names];
}

/** In as many transactions as it takes. What it has woken is not woken again. That it means nobody is asked for, too: a
 * leader whose term is over, or whose last commit fails, believes so wrongly. */
async function raiseAll(dispatcher: Pick<Dispatcher, 'ask'>, raised: Raised): Promise<EventFate> {
  const parts: EventFate[] = [];
  for (;;) {
    const part = asFate(await dispatcher.ask((ask: Ask) => ({ type: 'raise', ask, raised })));
    parts.push(part);
    if (!part.isMore) break;
  }
  return {
    woken: parts.flatMap(({ woken }) => woken),
    cancelled: parts.flatMap(({ cancelled }) => cancelled),
    full: parts.at(-1)?.full ?? [],
    isMore: false,
  };
}

function asFate(reply: ReplyBody): EventFate {
  if (reply.type === 'raised') return reply;
  throw new MillraceError({ code: 'invariant', what: `an event was sent, ${reply.type} answered` });
}

function nobody(event: string, flows: SendPort['flows'], awaited: readonly string[]): string {
  const naming = flows.naming(event);
  if (naming.length > 0) {
    const named = naming.slice(0, NAMED_MAX).join(', ') + (naming.length > NAMED_MAX ? ', …' : '');
    return `No flow is started: the data of '${event}' does not match what ${named} asks for.`;
  }
  if (awaited.includes(event))
    return `No flow is started by '${event}', and its data does not match what the jobs that name it ask for, or they have heard it before.`;
  const likely = didYouMean(event, [...flows.events(), ...awaited]);
  return `No flow is started by '${event}', and no job waits for it.${likely}`;
}

const NAMED_MAX = 5;

function overfull({ full: [first] }: EventFate): string | null {
  if (first === undefined) return null;
  const { job, task } = first;
  return `Task ${task} of job ${job} was not woken: its job has reached the limit of signals and events (signalsPerJobMax).`;
}

function tooMany(event: string, count: number): MillraceError {
  return new MillraceError({
    code: 'too_large',
    what: `The event '${event}' would start ${count} flows; the limit is ${EVENT_FLOWS_MAX}.`,
    why: 'Each of them gets a copy of its data, in one transaction.',
    todo: 'Let one flow call others, or use several events.',
  });
}
