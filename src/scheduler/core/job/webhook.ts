/**
 * The job that tells a server of another job's end. It is created in the very transaction of that end, so there is one for
 * each end, whatever happens to the leader. Its task is an ordinary `http` task, but what is stored as its input is only
 * what to tell: the leader makes the request of it, with a signature, each time it sends the task out.
 */
import type { Instant, JobId, JobNo } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import type { JobOutcome } from '../document/document.ts';
import type { TaskError } from '../rows.ts';

export const WEBHOOK_NAME = 'webhook';
export const WEBHOOK_TASK = 'deliver';
export const WEBHOOK_EXECUTOR = 'http';

const ID = new RegExp(`^${WEBHOOK_NAME}@\\d{1,15}\\.\\d+$`);

/** The shape is reserved: see `isOccurrenceId`. */
export function webhookJobId(at: Instant, no: JobNo): JobId {
  return `${WEBHOOK_NAME}@${at}.${no}` as JobId;
}

/** Whether the scheduler itself has made the job. A schedule may have the same name, but then its jobs have a time. */
export function isWebhookJob(job: {
  readonly jobId: JobId;
  readonly scheduledAt: Instant | null;
}): boolean {
  return job.scheduledAt === null && ID.test(job.jobId);
}

/** The stored input of its task. */
export interface WebhookInput {
  readonly url: string;
  readonly type: `job.${JobOutcome}`;
  /** When the job ended. */
  readonly timestamp: string;
  readonly job: WebhookJob;
}

/** The job that has ended, as the receiver sees it. */
export interface WebhookJob {
  readonly id: JobId;
  readonly name: string;
  readonly state: JobOutcome;
  readonly run: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly error: TaskError | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string;
}

/** JSON text. */
export function encodeWebhookInput(input: WebhookInput): string {
  return JSON.stringify(input satisfies { readonly [Name in keyof WebhookInput]: unknown });
}

/** The inverse of `encodeWebhookInput`. */
export function decodeWebhookInput(text: string): WebhookInput {
  return JSON.parse(text) as WebhookInput & JsonObject;
}
