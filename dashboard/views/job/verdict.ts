/** How a job stands, in a sentence. */
import type { JobShape, TaskShape } from '../../../src/scheduler/contract/index.ts';
import { count, duration, errorWords, plural, roughly, withoutFigures } from '../../words.ts';
import { tally } from './groups.ts';
import { waitWords } from './wait-words.ts';

export interface Verdict {
  readonly state: string;
  readonly head: string;
  readonly text: string;
  /** The task that the sentence is about. */
  readonly task: string | null;
}

export function verdictOf(job: JobShape, nowMs: number): Verdict {
  const since = (at: string | null): number => (at === null ? 0 : nowMs - Date.parse(at));
  const tookMs =
    job.startedAt === null || job.finishedAt === null
      ? 0
      : Date.parse(job.finishedAt) - Date.parse(job.startedAt);
  switch (job.state) {
    case 'succeeded': {
      const again = job.tasks.filter(({ attempt }) => attempt > 1).length;
      const retried = again === 0 ? '' : ` ${plural(again, 'task')} needed more than one attempt.`;
      return {
        state: 'succeeded',
        head: `Succeeded in ${duration(tookMs)}.`,
        text: `${plural(job.taskCount, 'task')}.${retried}`,
        task: null,
      };
    }
    case 'failed': {
      const failed = job.tasks.find(({ state, error }) => state === 'failed' && error !== null);
      const message = failed?.error?.message ?? job.error?.message ?? 'No reason is known.';
      const where = failed === undefined ? '' : ` in task ${failed.id}`;
      return {
        state: 'failed',
        head: `Failed after ${duration(tookMs)}${where}.`,
        text: sentence(message),
        task: failed?.id ?? null,
      };
    }
    case 'cancelled':
      return {
        state: 'cancelled',
        head:
          job.startedAt === null
            ? 'Cancelled before it started.'
            : `Cancelled after ${duration(tookMs)}.`,
        text: sentence(job.error?.message ?? ''),
        task: null,
      };
    case 'queued':
    case 'running':
      return unfinished(job, since(job.startedAt ?? job.createdAt));
  }
}

function unfinished(job: JobShape, ms: number): Verdict {
  const counts = tally(job.tasks);
  const done = counts.succeeded + counts.skipped + counts.failed + counts.cancelled;
  const progress = `${count(done)} of ${plural(job.tasks.length, 'task')} done`;
  if (counts.running > 0) {
    const named = job.tasks.filter(({ state }) => state === 'running').slice(0, 3);
    const where = named.map(({ id, node }) => (node === null ? id : `${id} on ${node}`)).join(', ');
    const more = counts.running > named.length ? ` and ${counts.running - named.length} more` : '';
    return {
      state: 'running',
      head: `Running for ${roughly(ms)}.`,
      text: `${progress}; ${where}${more} running.`,
      task: named[0]?.id ?? null,
    };
  }
  const held = firstHeld(job.tasks);
  if (held === null)
    return {
      state: 'queued',
      head: `Waiting for ${roughly(ms)}.`,
      text: `${progress}.`,
      task: null,
    };
  const why = held.waiting ?? 'only the leader knows why';
  return {
    state: held.state,
    head: `Waiting for ${roughly(ms)}:`,
    text: `task ${held.id} ${withoutFigures(waitWords(why))}. ${progress}.`,
    task: held.id,
  };
}

/** Skips tasks that wait for another task: that one is what matters. */
function firstHeld(tasks: readonly TaskShape[]): TaskShape | null {
  const order = ['ready', 'delayed', 'blocked'];
  const waiting = tasks
    .filter(({ state }) => order.includes(state))
    .toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  return (
    waiting.find(({ waiting: why }) => why !== null && !/^waits for [\w.]+(, |$)/.test(why)) ??
    waiting[0] ??
    null
  );
}

const sentence = (text: string): string => (text === '' ? '' : capital(errorWords(text)));

const capital = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
