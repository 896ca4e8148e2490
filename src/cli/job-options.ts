/** Flags that say something of a job. */
import type { Command } from 'commander';
import { KEEPS, type Labels, WHEN_BUSY } from '../scheduler/core/index.ts';
import { parseDuration } from '../kit/index.ts';
import { wrongUse } from './server-call.ts';
import { withWords } from './settings.ts';

export interface JobFlags {
  readonly name?: string;
  readonly priority?: string;
  readonly idempotencyKey?: string;
  readonly jobId?: string;
  readonly label?: readonly string[];
  readonly runAt?: string;
  readonly debounce?: string;
  readonly singleton?: string;
  readonly whenBusy?: string;
  readonly batch?: string;
  readonly fairnessKey?: string;
  readonly keep?: string;
  readonly webhook?: readonly string[];
}

export function declareJobFlags(command: Command): void {
  command
    .option('--name <name>', 'the name of the job, in place of its own')
    .option('--priority <number>', '0 urgent, 1 high, 2 normal, 3 low')
    .option('--idempotency-key <key>', 'submitting again with this key gives the first job')
    .option('--job-id <id>', 'the id of the job; submitting again with this id gives the same job')
    .option('--label <key=value>', 'a label to find the job by; repeat it for several', collected)
    .option('--run-at <time>', 'no task starts before: 2026-11-15T02:00:00Z, or 2h from now')
    .option(
      '--debounce <key=time[,longest]>',
      'start when no other job with this key has come for that time (docs=30s), at the latest after the longest (docs=30s,5m)',
    )
    .option(
      '--singleton <key>',
      'while a job with this key is live nothing is submitted, and the answer is that job',
    )
    .addOption(
      withWords(
        '--when-busy <what>',
        'what a singleton does then: answer the live job (skip), or cancel it and take its place (replace)',
        WHEN_BUSY,
      ),
    )
    .option(
      '--batch <key=count,time>',
      'run once with other jobs of this key: when there are so many, or the first has waited for that time (mail=100,5s)',
    )
    .option('--fairness-key <key>', 'jobs with the same key share turns, say those of a tenant')
    .option('--webhook <url>', 'notify it of the end; repeat it for several', collected)
    .addOption(withWords('--keep <what>', 'what remains of the job after its end', KEEPS));
}

/** The fields of the job document that the flags stand for. */
export function jobFields(flags: JobFlags): Record<string, unknown> {
  const { name, priority, idempotencyKey, label, runAt, debounce, batch, keep, webhook } = flags;
  if (priority !== undefined && !/^[0-3]$/.test(priority)) {
    throw wrongUse(
      `'${priority}' is not a valid priority.`,
      'Write --priority 0 (urgent), 1 (high), 2 (normal) or 3 (low).',
    );
  }
  return {
    ...(name === undefined ? {} : { name }),
    ...(priority === undefined ? {} : { priority: Number(priority) }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(label === undefined ? {} : { labels: labelOption(label) }),
    ...(runAt === undefined ? {} : { runAt: momentOption(runAt) }),
    ...(debounce === undefined ? {} : { debounce: debounceOption(debounce) }),
    ...singletonField(flags),
    ...(batch === undefined ? {} : { batch: batchOption(batch) }),
    ...(flags.fairnessKey === undefined ? {} : { fairnessKey: flags.fairnessKey }),
    ...(keep === undefined ? {} : { keep }),
    ...(webhook === undefined ? {} : { webhooks: webhook.map((url) => ({ url })) }),
  };
}

function singletonField({ singleton: key, whenBusy }: JobFlags): Record<string, unknown> {
  if (key === undefined && whenBusy !== undefined) {
    throw wrongUse('--when-busy is for singletons.', 'Write --singleton KEY --when-busy replace.');
  }
  return key === undefined
    ? {}
    : { singleton: { key, ...(whenBusy === undefined ? {} : { whenBusy }) } };
}

/** The id that was chosen for the job, if one was. */
export function jobIdField({ jobId }: JobFlags): { readonly jobId?: string } {
  return jobId === undefined ? {} : { jobId };
}

/** For a flag that may be given several times. */
export function collected(value: string, all: readonly string[] = []): readonly string[] {
  return [...all, value];
}

/** `key=value`, each. What the key and the value may be is for the reader of documents to say. */
export function labelOption(given: readonly string[]): Labels {
  const labels = given.map((text): readonly [string, string] => {
    const at = text.indexOf('=');
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
    throw wrongUse(`'${text}' is not a label.`, 'Write --label key=value.');
  });
  return Object.fromEntries(labels);
}

/** A duration counts from now; everything else is left for the reader of documents. */
export function momentOption(text: string): string {
  const ms = parseDuration(text);
  return ms === null || ms < 0 ? text : new Date(Date.now() + ms).toISOString();
}

/** `key=30s` or `key=30s,5m`. */
function debounceOption(text: string): object {
  const [key, [quiet = '', longest, ...more]] = keyedList(text);
  const ms = parseDuration(quiet);
  const maxMs = longest === undefined ? undefined : parseDuration(longest);
  if (key === '' || ms === null || maxMs === null || more.length > 0) {
    throw wrongUse(
      `'${text}' is not valid for --debounce.`,
      "Write --debounce 'KEY=30s', or --debounce 'KEY=30s,5m' to start after five minutes at the latest.",
    );
  }
  return { key, ms, ...(maxMs === undefined ? {} : { maxMs }) };
}

/** `key=100,5s`. */
function batchOption(text: string): object {
  const [key, [count = '', longest = '', ...more]] = keyedList(text);
  const ms = parseDuration(longest);
  if (key === '' || !/^\d{1,9}$/.test(count) || ms === null || more.length > 0) {
    throw wrongUse(
      `'${text}' is not valid for --batch.`,
      "Write --batch 'KEY=100,5s' for batches of up to 100 jobs that wait for at most 5 seconds.",
    );
  }
  return { key, max: Number(count), ms };
}

/** What follows the last `=` is a list: a key may have an `=` of its own. */
function keyedList(text: string): readonly [key: string, values: readonly string[]] {
  const at = text.lastIndexOf('=');
  return at < 0 ? ['', []] : [text.slice(0, at), text.slice(at + 1).split(',')];
}
