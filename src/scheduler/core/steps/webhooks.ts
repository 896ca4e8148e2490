/** A job has ended: the servers that asked for it are notified, each by a job of its own. */
import { OUTCOMES } from '../document/document.ts';
import type { JobDocument, JobOutcome, TaskOptions, Webhook } from '../document/document.ts';
import { NO_JOB_OPTIONS } from '../document/job-options.ts';
import { labelsOf } from '../document/labels.ts';
import { momentText } from '../document/moment.ts';
import { defaultOptions } from '../document/options.ts';
import type { Instant, TaskId } from '../ids.ts';
import type { Job } from '../job/job.ts';
import {
  WEBHOOK_EXECUTOR,
  WEBHOOK_NAME,
  WEBHOOK_TASK,
  encodeWebhookInput,
  webhookJobId,
} from '../job/webhook.ts';
import type { TaskError } from '../rows.ts';
import type { Settings } from '../settings.ts';
import type { StepContext } from '../step-context.ts';
import { createJob } from './submit.ts';

/** About eight hours in all: 1 s, 2 s, 4 s, ... up to an hour between two attempts. */
const RETRY = { maxAttempts: 20, backoffMs: 1_000, maxBackoffMs: 3_600_000 };
/** Longer than the receiver may take. */
const RUN_MS = 60_000;
const MESSAGE_LENGTH_MAX = 2_000;

export function deliverWebhooks(context: StepContext, job: Job): void {
  for (const webhook of job.options.webhooks) deliverTo(context, job, webhook);
}

/** Unless it did not ask for this end. */
export function deliverTo(context: StepContext, job: Job, webhook: Webhook): void {
  const state = OUTCOMES.find((outcome) => outcome === job.state);
  if (state === undefined || !webhook.on.includes(state)) return;
  const id = webhookJobId(context.now, context.state.nextJobNo);
  createJob(context, id, delivery(context, job, webhook, state), {});
}

function delivery(
  { state: { settings }, now }: StepContext,
  job: Job,
  { url }: Webhook,
  state: JobOutcome,
): JobDocument {
  const type = `job.${state}` as const;
  const finishedAt = momentText(job.finishedAt ?? now);
  const input = encodeWebhookInput({
    url,
    type,
    timestamp: finishedAt,
    job: {
      id: job.id,
      name: job.name,
      state,
      run: job.run,
      labels: labelsOf(job.labels),
      error: shortened(job.error),
      createdAt: momentText(job.createdAt),
      startedAt: timeOrNull(job.startedAt),
      finishedAt,
    },
  });
  return {
    name: WEBHOOK_NAME,
    priority: job.priority,
    idempotencyKey: null,
    maxParallel: null,
    onFailure: 'finish',
    totalMs: null,
    // By these it is found.
    labels: [`event:${type}`, `job:${job.id}`],
    runAt: null,
    // What was delivered is of no more use; what was not can be looked at, and run again.
    options: {
      ...NO_JOB_OPTIONS,
      keep: 'failed',
      fairnessKey: job.options.fairnessKey,
      trace: job.options.trace,
    },
    output: null,
    tasks: [
      {
        id: WEBHOOK_TASK as TaskId,
        executor: WEBHOOK_EXECUTOR,
        priority: job.priority,
        parent: null,
        dependsOn: [],
        idempotencyKey: null,
        options: deliveryOptions(settings),
        input,
      },
    ],
  };
}

const known = new WeakMap<Settings, TaskOptions>();

/** One for all of them. */
function deliveryOptions(settings: Settings): TaskOptions {
  const usual = defaultOptions(settings);
  const options = known.get(settings) ?? {
    ...usual,
    retry: { ...usual.retry, ...RETRY },
    timeouts: { ...usual.timeouts, runMs: RUN_MS },
  };
  known.set(settings, options);
  return options;
}

function timeOrNull(at: Instant | null): string | null {
  return at === null ? null : momentText(at);
}

/** No half of a pair of surrogates may be left over. */
export function shortened(error: TaskError | null): TaskError | null {
  if (error === null || error.message.length <= MESSAGE_LENGTH_MAX) return error;
  const cut = error.message.slice(0, MESSAGE_LENGTH_MAX).replace(/[\uD800-\uDBFF]$/, '');
  return { code: error.code, message: `${cut}...` };
}
