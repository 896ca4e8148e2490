/** The field `batch` of a document, and what it asks of the rest of it. */
import type { Json, JsonObject } from '../json.ts';
import type { BatchFigures, TaskDocument } from './document.ts';
import type { Fields } from './reader.ts';
import { refuse } from './refuse.ts';
import { LITERAL } from './template.ts';

export function readBatch(job: Fields): BatchFigures | null {
  const fields = job.inner('batch');
  if (fields === undefined) return null;
  const key = fields.name('key') ?? fields.missing('key', 'Jobs with the same key share batches.');
  const max =
    fields.whole('max') ?? fields.missing('max', 'Say how many jobs a batch has at most.');
  const ms = fields.whole('ms') ?? fields.missing('ms', 'Say how long the first of them waits.');
  for (const other of ['runAt', 'debounce']) {
    if (job.raw(other) === undefined) continue;
    refuse(
      job.at(other),
      `A job of a batch starts with its batch: it cannot have ${other}.`,
      `Remove ${other} or batch.`,
    );
  }
  return { key, max, ms };
}

/** The items of a batch are those of the lists that its jobs have as inputs, so there must be one such list. */
export function checkBatched(job: Fields, tasks: readonly TaskDocument[]): void {
  const [task] = tasks;
  if (task === undefined || tasks.length > 1) {
    refuse(
      job.at('tasks'),
      `A job of a batch has one task, not ${tasks.length}.`,
      'Submit a single task, and let it start what comes after it.',
    );
  }
  if (task.idempotencyKey !== null) {
    refuse(
      `${job.at('tasks')}/0/idempotencyKey`,
      'The task of a batch cannot have an idempotency key: it runs once for all jobs of the batch.',
      'Give the key to the job.',
    );
  }
  if (isList(task.input)) return;
  refuse(
    `${job.at('tasks')}/0/input`,
    'The input of a job of a batch must be a list: the task gets the items of all of them.',
    'Put the item into a list.',
  );
}

function isList(input: string | null): boolean {
  const value = input === null ? null : (JSON.parse(input) as Json);
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) || Array.isArray((value as JsonObject)[LITERAL]);
}
