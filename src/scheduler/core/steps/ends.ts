/**
 * A job has ended: flows that listen to such ends are started, in the very commit of the end, so that none is missed and
 * none is started twice. What such an event has started raises none itself, nor does what others wait for: nothing may
 * go round in circles.
 */
import { OUTCOMES } from '../document/document.ts';
import type { JobDocument, Webhook } from '../document/document.ts';
import { flowDocument } from '../document/flow-document.ts';
import { labelsOf } from '../document/labels.ts';
import { parseJobDocument } from '../document/parse.ts';
import { failureDocument } from '../document/when-failed.ts';
import { OWN_EVENTS } from '../document/sent-event.ts';
import { MillraceError, isMillraceError } from '../errors.ts';
import { QUERY_OUTPUT_START } from '../fragment.ts';
import type { Instant, JobId, JobNo } from '../ids.ts';
import { isWebhookJob } from '../job/webhook.ts';
import type { Job } from '../job/job.ts';
import type { Json, JsonObject } from '../json.ts';
import { eventInput } from '../node/flow.ts';
import type { FlowDeclaration } from '../node/flow.ts';
import type { SchedulerState } from '../state.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';
import { isAbandoned } from './awaited.ts';
import { asCalled, makeWay } from './singleton.ts';
import { createFailed, createJob } from './submit.ts';
import { deliverTo, shortened } from './webhooks.ts';

/** Who hears of the ends of jobs, beside those that their documents name. */
export interface EndListeners {
  /** The flows that the event starts, as they are now. */
  readonly flowsOn: (event: string, data: () => Json) => readonly FlowDeclaration[];
  /** Of the cluster. */
  readonly webhooks: readonly Webhook[];
}

/** What listeners get of the end. Made before the job leaves the memory; null if nobody listens. */
export function endOfJob(state: SchedulerState, job: Job, failed: Slot | undefined): JobEnd | null {
  const { ends } = state;
  if (ends === null) return null;
  const about = (): JsonObject => aboutEnd(state, job, failed);
  // Mostly nobody listens to it.
  const flows = ends.flowsOn(`${OWN_EVENTS}job.${job.state}`, about);
  return flows.length === 0 || !isHeard(state, job) ? null : { flows, input: about() };
}

function aboutEnd({ tasks }: SchedulerState, job: Job, failed: Slot | undefined): JsonObject {
  const cause = failed === undefined ? null : shortened(tasks.error(failed));
  const id = failed === undefined ? '' : tasks.id(failed);
  const task = cause === null ? null : { id, ...cause };
  const { name, labels, state: outcome, error } = job;
  return {
    job: { id: job.id, name, labels: { ...labelsOf(labels) }, state: outcome },
    error: error === null ? null : { ...shortened(error) },
    task,
  };
}

interface JobEnd {
  readonly flows: readonly FlowDeclaration[];
  readonly input: JsonObject;
}

/** The webhooks of the cluster; a delivery tells of none. */
export function clusterWebhooks(context: StepContext, job: Job): void {
  const { ends } = context.state;
  if (ends === null || ends.webhooks.length === 0) return;
  if (isOwn(job)) return;
  for (const webhook of ends.webhooks) deliverTo(context, job, webhook);
}

/** What the task gets that runs because of the failure of this job; null if there is none. */
export function failureOf(
  state: SchedulerState,
  job: Job,
  failed: Slot | undefined,
): JsonObject | null {
  if (job.state !== 'failed' || job.options.whenFailed === null || isOfEnd(job)) return null;
  return aboutEnd(state, job, failed);
}

export function startFailureTask(context: StepContext, job: Job, about: JsonObject): void {
  const { priority, options } = job;
  const { whenFailed, fairnessKey } = options;
  if (whenFailed === null) return;
  const given = failureDocument(whenFailed, about, { priority, fairnessKey });
  startedByEnd(context, job, given.name, () => parseJobDocument(given, context.state.settings));
}

/** The end of a job has started it. */
function isOfEnd({ options: { startedBy: by } }: Job): boolean {
  return by !== null && 'event' in by && by.event.startsWith(OWN_EVENTS);
}

function isHeard(state: SchedulerState, job: Job): boolean {
  if (isOfEnd(job)) return false;
  // Its caller hears of it, and ends itself, or has ended.
  return !isOwn(job) && !state.callers.has(job.id) && !isAbandoned(job);
}

/** A delivery, or the job of a query. */
function isOwn({ id: jobId, scheduleId, output }: Job): boolean {
  if (output !== null && output.startsWith(QUERY_OUTPUT_START)) return true;
  return scheduleId === null && isWebhookJob({ jobId, scheduledAt: null });
}

export function startListeners(context: StepContext, job: Job, { flows, input }: JobEnd): void {
  for (const flow of flows)
    startedByEnd(context, job, flow.name, () => documentOf(context.state, flow, input));
}

/** One that cannot be made is stored as a failed job, so that its owner can see why. */
function startedByEnd(context: StepContext, job: Job, name: string, make: () => JobDocument): void {
  const event = `${OWN_EVENTS}job.${OUTCOMES.find((outcome) => outcome === job.state) ?? ''}`;
  const jobId = endJobId(context.now, context.state.nextJobNo);
  const made = madeOr(make);
  if (isMillraceError(made)) {
    const error = { code: made.code, message: made.message };
    createFailed(context, { jobId, name, error, startedBy: { event, id: job.id } });
    return;
  }
  const living = makeWay(context, jobId, made);
  // While it is not known whether one lives, an end is reported twice rather than not at all.
  if (living !== null && !isMillraceError(living)) return;
  const document = living === null ? { ...made, idempotencyKey: null } : asCalled(made);
  createJob(context, jobId, document, { startedBy: { event, id: job.id } });
}

function madeOr(make: () => JobDocument): JobDocument | MillraceError {
  try {
    return make();
  } catch (error) {
    if (isMillraceError(error)) return error;
    throw error;
  }
}

/** The shape is reserved: see `isOccurrenceId`. */
function endJobId(at: Instant, no: JobNo): JobId {
  return `ended@${at}.${no}` as JobId;
}

function documentOf(
  { settings }: SchedulerState,
  flow: FlowDeclaration,
  input: JsonObject,
): JobDocument {
  const { input: given = null } = eventInput(flow, input);
  const made = flowDocument(flow, given, '/input', settings.inputBytesMax);
  const document = parseJobDocument(made, settings);
  if (document.tasks.every(({ idempotencyKey }) => idempotencyKey === null)) return document;
  throw new MillraceError({
    code: 'bad_input',
    what: `The flow '${flow.name}' has tasks with idempotency keys, and cannot be started by the end of a job.`,
    todo: 'Let it submit a flow with such tasks.',
  });
}
