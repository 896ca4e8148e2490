/** The webhooks of a job document. */
import { OUTCOMES, type JobOutcome, type Webhook } from './document.ts';
import { WEBHOOK, WEBHOOKS_MAX } from './grammar.ts';
import { Fields } from './reader.ts';
import { below, refuse } from './refuse.ts';
import { described } from './text.ts';

export const URL_LENGTH_MAX = 2_000;
/**
 * A web address in ASCII: scheme, host, port, and a path or query. It has no place for a user or a password, which would
 * be shown wherever the job is. Where the host may lie is checked when the connection is made.
 */
export const WEB_URL =
  '^https?://(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?::[0-9]{1,5})?(?:[/?][!$-\\[\\]_a-z~]*)?$';
const URL_SHAPE = new RegExp(WEB_URL);

const NONE: readonly Webhook[] = Object.freeze([]);

export function readWebhooks(job: Fields): readonly Webhook[] {
  const list = job.list('webhooks');
  if (list === undefined || list.length === 0) return NONE;
  const path = job.at('webhooks');
  if (list.length > WEBHOOKS_MAX)
    refuse(path, `${list.length} webhooks exceed the limit of ${WEBHOOKS_MAX} webhooks per job.`);
  return Array.from(list, (each, at) =>
    readWebhook(Fields.of(each, below(path, at), 'A webhook', WEBHOOK)),
  );
}

/** Of the setting `webhook`: `URL` for failures, or with the ends in front of it, `failed+cancelled:URL`. Null if it is neither. */
export function readClusterWebhook(text: string): Webhook | null {
  const [, ends = 'failed', url = ''] = /^(?:([a-z+]+):)?(https?:.*)$/s.exec(text) ?? [];
  const on = ends.split('+');
  if (url.length > URL_LENGTH_MAX || !URL_SHAPE.test(url)) return null;
  if (on.some((end) => !OUTCOMES.some((outcome) => outcome === end))) return null;
  return { url, on: OUTCOMES.filter((outcome) => on.includes(outcome)) };
}

function readWebhook(fields: Fields): Webhook {
  return { url: readUrl(fields), on: readOutcomes(fields) };
}

/** The text is not repeated: it may hold a key. */
function readUrl(fields: Fields): string {
  const url = fields.raw('url');
  if (url === undefined) fields.missing('url', 'Say where to send it.');
  if (typeof url !== 'string')
    refuse(fields.at('url'), `A URL must be text, not ${described(url)}.`);
  if (url.length > URL_LENGTH_MAX)
    refuse(fields.at('url'), `The URL is longer than ${URL_LENGTH_MAX} characters.`);
  if (URL_SHAPE.test(url)) return url;
  return refuse(
    fields.at('url'),
    'Not a valid URL for a webhook.',
    'Use https://HOST/PATH, in ASCII, without user, password and fragment.',
  );
}

function readOutcomes(fields: Fields): readonly JobOutcome[] {
  const list = fields.list('on');
  if (list === undefined) return OUTCOMES;
  if (list.length === 0)
    refuse(fields.at('on'), 'The list is empty.', `Name some of ${OUTCOMES.join(', ')}.`);
  for (const [at, each] of list.entries()) {
    if (OUTCOMES.some((outcome) => outcome === each)) continue;
    refuse(
      below(fields.at('on'), at),
      `Must be one of ${OUTCOMES.map((outcome) => `'${outcome}'`).join(', ')}, not ${described(each)}.`,
    );
  }
  return OUTCOMES.filter((outcome) => list.includes(outcome));
}
