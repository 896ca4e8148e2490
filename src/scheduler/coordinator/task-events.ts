/**
 * An event that a task sends: its jobs, what it wakes and cancels, and the step that says so are one commit. It comes as
 * the document of a submission, `{ event, data, labels }`: a leader that does not know events refuses it.
 */
import {
  EVENT_FLOWS_MAX,
  MAY_WAIT,
  eventInput,
  findLease,
  isMeaningMany,
  isMillraceError,
  isObject,
  readSentEvent,
  stillLoading,
} from '../core/index.ts';
import type { Json, ReportItem, SentFromTask, SubmittedJob, TaskError } from '../core/index.ts';
import { eventJobId } from '../contract/index.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { KnownFlows } from './known-flows.ts';
import { checkedDocument } from './suspension-checks.ts';
import type { SuspensionChecks } from './suspension-checks.ts';

export interface EventChecks extends SuspensionChecks {
  readonly listening: KnownFlows['listening'];
}

export function isEventDocument(document: unknown): document is Readonly<Record<string, unknown>> {
  return (
    isObject(document) && Object.hasOwn(document, 'event') && !Object.hasOwn(document, 'tasks')
  );
}

interface CheckedEvent {
  readonly sent: SentFromTask;
  /** Flows that do not accept the data. */
  readonly refused: readonly { readonly flow: string; readonly why: string }[];
}

export function checkedEvent(
  { event, ...body }: Readonly<Record<string, unknown>>,
  id: string,
  checks: EventChecks,
): CheckedEvent | TaskError {
  const read = readOr(event, body);
  if ('code' in read) return read;
  const { name, data, labels } = read.event;
  const listening = checks.listening(name, () => data as Json);
  if (listening.length > EVENT_FLOWS_MAX) {
    const message = `the event ${name} would start ${listening.length} flows; the limit is ${EVENT_FLOWS_MAX}`;
    return { code: 'too_large', message };
  }
  const jobs: SubmittedJob[] = [];
  const refused: { flow: string; why: string }[] = [];
  for (const listener of listening) {
    const { name: flow } = listener;
    const document = { flow, ...eventInput(listener, data), ...(labels && { labels }) };
    const checked = checkedDocument(document, checks, null);
    if ('code' in checked) refused.push({ flow, why: checked.message.slice(0, WHY_MAX) });
    else jobs.push({ jobId: eventJobId(name, id, flow), ...checked, ended: null });
  }
  const raised = { name, id, data: JSON.stringify(data) };
  return { sent: { raised, jobs }, refused };
}

const WHY_MAX = 500;

function readOr(
  event: unknown,
  body: object,
): { readonly event: ReturnType<typeof readSentEvent> } | TaskError {
  try {
    return { event: readSentEvent(event, body) };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { code: 'bad_event', message: error.message };
  }
}

/**
 * Before a report with events is fed: all who may be meant are in memory, and so many of them that one transaction would
 * be too large have gone on already. What is left of the event happens with its step.
 */
export async function prepareEvents(
  dispatcher: Pick<Dispatcher, 'ask' | 'peek'>,
  items: readonly ReportItem[],
): Promise<void> {
  for (const item of items) {
    const raised = item.kind === 'step' ? item.sent?.raised : undefined;
    if (raised === undefined) continue;
    if (!dispatcher.peek(({ isComplete }) => isComplete)) throw stillLoading(MAY_WAIT);
    const isLarge = (): boolean =>
      dispatcher.peek(
        (state) => findLease(state, item.lease) !== null && isMeaningMany(state, raised),
      );
    while (isLarge()) await dispatcher.ask((ask) => ({ type: 'raise', ask, raised }));
  }
}
