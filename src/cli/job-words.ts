/** Jobs, tasks and events as people read them. */
import type { DatedJob } from '../client/index.ts';
import { type JobId, isFinished, isTerminal } from '../scheduler/core/index.ts';
import type { EventShape, JobSummary, TaskShape } from '../scheduler/contract/index.ts';
import { facts, plain, table } from './table.ts';
import { counted, errorWords, reasonWords, shortened, took, when } from './wording.ts';

const ERROR_WIDTH = 60;
const RESULT_WIDTH = 400;
const FAILURES_SHOWN = 10;

export function jobTable(jobs: readonly JobSummary[], asOf: string): string[] {
  const isWaiting = jobs.some(({ waitsFor }) => waitsFor !== undefined);
  return table(
    ['ID', 'NAME', 'STATE', 'TASKS', 'CREATED', 'TOOK', ...(isWaiting ? ['WAITS FOR'] : [])],
    jobs.map((job) => [
      job.id,
      shortened(job.name, 40),
      job.state,
      job.taskCount,
      when(job.createdAt, asOf),
      took(job.startedAt, job.finishedAt, asOf),
      ...(isWaiting ? [shortened((job.waitsFor ?? []).join(', '), 60)] : []),
    ]),
  );
}

export function jobLines(job: DatedJob): string[] {
  const { at } = job.asOf;
  const about = facts([
    ['job', job.id],
    ['name', job.name],
    ['state', job.run > 1 ? `${job.state} (run ${job.run})` : job.state],
    ['tasks', progressOf(job.tasks)],
    ['created', `${job.createdAt} (${when(job.createdAt, at)})`],
    ['starts at', job.startedAt === null ? job.runAt : null],
    ['took', took(job.startedAt, job.finishedAt, at)],
    ['key', job.idempotencyKey],
    ['schedule', job.scheduleId],
    ['started by', startWords(job)],
    ['labels', labelWords(job)],
    ['kept', keepWords(job)],
    ['error', errorWords(job.error)],
    ['result', resultWords(job)],
  ]);
  return [...about, '', ...taskTable(job.tasks, at), ...notes(job)];
}

function keepWords({ keep }: DatedJob): string | null {
  switch (keep) {
    case 'all':
      return null;
    case 'failed':
      return 'only if it does not succeed';
    case 'none':
      return 'no';
  }
}

/** A server of an earlier version does not say it. */
function startWords({ startedBy }: Partial<Pick<DatedJob, 'startedBy'>>): string | null {
  if (startedBy === undefined || startedBy === null) return null;
  if ('event' in startedBy) return `event ${startedBy.event} (${startedBy.id})`;
  return `task ${startedBy.job}/${startedBy.task}`;
}

function labelWords({ labels }: DatedJob): string | null {
  const shown = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return shown.length === 0 ? null : shown.join(', ');
}

/** In full if it is short; `--json` has all of it. */
function resultWords({ state, result }: DatedJob): string | null {
  if (state !== 'succeeded' || result === null || result === undefined) return null;
  return shortened(JSON.stringify(result), RESULT_WIDTH);
}

/** `3 of 5 succeeded, 1 running`. */
function progressOf(tasks: readonly TaskShape[]): string {
  const counts = new Map<string, number>();
  for (const { state } of tasks) counts.set(state, (counts.get(state) ?? 0) + 1);
  const succeeded = `${counts.get('succeeded') ?? 0} of ${tasks.length} succeeded`;
  counts.delete('succeeded');
  return [succeeded, ...[...counts].map(([state, count]) => `${count} ${state}`)].join(', ');
}

function taskTable(tasks: readonly TaskShape[], asOf: string): string[] {
  return table(
    ['TASK', 'STATE', 'EXECUTOR', 'ATTEMPT', 'NODE', 'TOOK', 'NOTE'],
    tasks.map((task) => [
      task.id,
      task.state,
      task.executor,
      task.attempt,
      task.node,
      took(task.startedAt, task.finishedAt, asOf),
      shortened(noteOf(task), ERROR_WIDTH),
    ]),
  );
}

function noteOf(task: TaskShape): string {
  const why = task.waiting === null ? null : reasonWords(task.waiting);
  return errorWords(task.error) ?? why ?? progressNote(task) ?? '';
}

function progressNote({ state, progress, tree }: TaskShape): string | null {
  if (tree !== undefined && tree.ended < tree.total) {
    const share = `${Math.round(tree.progress * 100)} %`;
    return `${tree.ended} of ${tree.total} tasks from here on, ${share}`;
  }
  return isTerminal(state) || progress === 0 ? null : `${Math.round(progress * 100)} %`;
}

const SIGNAL = /\bsignal '?([^\s',]+)/;

/** The next step for what stands still. */
function notes(job: DatedJob): string[] {
  const id = plain(job.id);
  const signal = job.tasks.map(({ waiting }) => SIGNAL.exec(waiting ?? '')?.[1]).find(Boolean);
  if (signal !== undefined && !isFinished(job.state)) {
    return ['', `Send the signal: millrace signal ${id} ${plain(signal)} '{"ok": true}'`];
  }
  const waiting = job.tasks.find(({ state }) => state === 'ready' || state === 'delayed');
  if (waiting !== undefined) {
    return ['', `Find out why it waits: millrace explain ${id}/${plain(waiting.id)}`];
  }
  if (job.state !== 'failed') return [];
  return ['', `Rerun what failed: millrace rerun ${id}`];
}

/** Why a job did not succeed: a line for each task that failed, or a few if its error has more. */
export function failureLines(job: DatedJob): string[] {
  const failed = job.tasks.filter(({ state }) => state === 'failed');
  const lines = failed
    .slice(0, FAILURES_SHOWN)
    .flatMap(({ id, error }) => `${id}  ${errorWords(error) ?? 'failed'}`.split('\n'))
    .map((line) => plain(`  ${line}`));
  const more = failed.length - FAILURES_SHOWN;
  return more > 0 ? [...lines, `  ... and ${counted(more, 'more task')}`] : lines;
}

/** One line for a finished job. */
export function endingOf(job: DatedJob): string {
  const time = took(job.createdAt, job.finishedAt, job.asOf.at) ?? '';
  const failed = job.tasks.filter(({ state }) => state === 'failed').map(({ id }) => id);
  const which = failed.length === 0 ? '' : `: ${shortened(failed.join(', '), ERROR_WIDTH)} failed`;
  return plain(
    `Job ${job.id} ${job.state} after ${time}, ${counted(job.tasks.length, 'task')}${which}.`,
  );
}

/** `1842  02:00:01.123  started    nightly-7/fetch  on w-1  attempt 2`; without the job where all are of one. */
export function eventLine(event: EventShape, watched?: JobId): string {
  const { seq, at, kind, job, task, node, attempt, detail } = event;
  const about = [job === watched ? null : job, task].filter((part) => part !== null).join('/');
  const parts = [
    String(seq).padStart(6),
    at.slice(11, 23),
    kind.padEnd(14),
    about,
    node === null ? '' : `on ${node}`,
    attempt === null || attempt < 2 ? '' : `attempt ${attempt}`,
    detail === null ? '' : shortened(JSON.stringify(detail), 80),
  ];
  return plain(parts.filter((part) => part !== '').join('  '));
}
