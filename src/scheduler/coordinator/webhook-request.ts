/** The request of a webhook: made anew, and signed, for each attempt. The secrets never leave this process. */
import { decodeWebhookInput } from '../core/index.ts';
import type { Assignment, JobImage, TaskError } from '../core/index.ts';
import { signWebhook } from '../contract/index.ts';
import type { Store } from '../store/index.ts';
import { jobResultText } from './called-jobs.ts';
import type { ResultReader } from './result-reader.ts';

export interface WebhookParts {
  readonly store: Store;
  readonly shard: number;
  readonly reader: ResultReader;
  readonly secrets: readonly string[];
}

/** What receivers usually take. */
const RESULT_BYTES_MAX = 256 * 1024;
const TIMEOUT_MS = 30_000;
/** Of the answer, which is only looked at by people. */
const ANSWER_BYTES_MAX = 1024 * 1024;

/** The input of the `http` task as JSON text. */
export async function webhookRequest(
  { jobId: id, assignedAt: atMs }: Assignment,
  stored: string,
  parts: WebhookParts,
): Promise<string | TaskError> {
  if (parts.secrets.length === 0) return NO_SECRET;
  const { url, type, timestamp, job } = decodeWebhookInput(stored);
  const image = await parts.store.loadJob(parts.shard, job.id);
  const about = JSON.stringify({ type, timestamp, data: { job } }).slice(0, -2);
  const body = `${about},${await resultField(image, job, parts)}}}`;
  const headers = {
    'content-type': 'application/json',
    ...signWebhook(parts.secrets, { id, atMs, body }),
  };
  return JSON.stringify({
    url,
    method: 'POST',
    headers,
    body,
    retryOn: 'any',
    redirects: 0,
    timeoutMs: TIMEOUT_MS,
    maxBytes: ANSWER_BYTES_MAX,
  });
}

async function resultField(
  image: JobImage | null,
  { state, run }: { readonly state: string; readonly run: number },
  { reader }: WebhookParts,
): Promise<string> {
  if (state !== 'succeeded') return '"result":null';
  const isSame = image?.job.state === state && image.job.run === run;
  const text = isSame ? await jobResultText(image, { reader, bytesMax: RESULT_BYTES_MAX }) : null;
  return text === null ? '"result":null,"isResultOmitted":true' : `"result":${text}`;
}

const NO_SECRET: TaskError = {
  code: 'no_webhook_secret',
  message:
    'The leader has no secret to sign webhooks with. Set MILLRACE_WEBHOOK_SECRETS on every server, then rerun this job.',
};
