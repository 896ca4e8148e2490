/** Flags that say something of a job. */
import type { Command } from 'commander';
import { KEEPS, type Labels } from '../scheduler/core/index.ts';
import { parseDuration } from '../kit/index.ts';
import { wrongUse } from './server-call.ts';
import { withWords } from './settings.ts';

export interface JobFlags {
  readonly name?: string;
  readonly priority?: string;
  readonly idempotencyKey?: string;
  readonly label?: readonly string[];
  readonly runAt?: string;
  readonly keep?: string;
}

export function declareJobFlags(command: Command): void {
  command
    .option('--name <name>', 'the name of the job, in place of its own')
    .option('--priority <number>', '0 urgent, 1 high, 2 normal, 3 low')
    .option('--idempotency-key <key>', 'submitting again with this key gives the first job')
    .option('--label <key=value>', 'a label to find the job by; repeat it for several', collected)
    .option('--run-at <time>', 'no task starts before: 2026-11-15T02:00:00Z, or 2h from now')
    .addOption(withWords('--keep <what>', 'what remains of the job after its end', KEEPS));
}

/** The fields of the job document that the flags stand for. */
export function jobFields(flags: JobFlags): Record<string, unknown> {
  const { name, priority, idempotencyKey, label, runAt, keep } = flags;
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
    ...(keep === undefined ? {} : { keep }),
  };
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
function momentOption(text: string): string {
  const ms = parseDuration(text);
  return ms === null || ms < 0 ? text : new Date(Date.now() + ms).toISOString();
}
