/** Follows one job to its end: by its events, and by reading it when they say that it has ended. */
import { type JobId, MillraceError, isFinished, isMillraceError } from '../scheduler/core/index.ts';
import type { EventShape } from '../scheduler/contract/index.ts';
import type { DatedJob } from './answers.ts';
import { backoffMs, sleep } from '../kit/index.ts';
import type { Reconnecting } from './events.ts';
import {
  BACKOFF,
  type CallOptions,
  type EventsOptions,
  type Pace,
  type WatchOptions,
} from './options.ts';

interface Sources {
  job(id: JobId, options: CallOptions): Promise<DatedJob>;
  events(options: EventsOptions & Reconnecting): AsyncIterable<EventShape>;
}

const ENDS: ReadonlySet<string> = new Set(['job.succeeded', 'job.failed', 'job.cancelled']);

/**
 * Yields what happens to the job, from now on or after a given event; the generator's own result is the
 * job as it ended.
 */
export async function* watchJob(
  sources: Sources,
  pace: Pace,
  id: JobId,
  { after: given, signal, retriesForever }: WatchOptions,
): AsyncGenerator<EventShape, DatedJob> {
  const options = { signal, retriesForever };
  let job = await sources.job(id, options);
  let after = given ?? job.asOf.seq;
  const knownSeq = job.asOf.seq;
  let expirations = 0;
  for (;;) {
    const isOver = isFinished(job.state);
    // Past events are delivered too, if the caller asked for them.
    if (isOver && after >= job.asOf.seq) return job;
    const until = isOver ? { until: job.asOf.seq } : {};
    // The log no longer names a job that is gone: its end, if that was missed, would never come.
    const onReconnect = async (): Promise<void> => {
      if (!isOver) await stillThere(sources, pace, id, options);
    };
    try {
      const followed = { ...options, job: id, after, ...until, onReconnect };
      for await (const event of sources.events(followed)) {
        yield event;
        after = event.seq;
        if (isOver || !ENDS.has(event.kind)) continue;
        job = await jobSince(sources, pace, id, event.seq, options);
        // It may run again already; and what was old when we came may be the end of an earlier run.
        if (!isFinished(job.state)) continue;
        if (event.seq >= knownSeq) return job;
        break;
      }
      if (isOver) return job;
    } catch (error) {
      // The log of the time in between is gone; the job itself has its state.
      if (!isMillraceError(error, 'expired')) throw error;
      job = await sources.job(id, options);
      after = job.asOf.seq;
      expirations += 1;
      await sleep(pace.clock, backoffMs(BACKOFF, expirations, pace.random), options.signal);
    }
  }
}

/** A node that is behind may not know the job yet. */
const LOOKS_MAX = 3;

async function stillThere(
  sources: Sources,
  pace: Pace,
  id: JobId,
  options: CallOptions,
): Promise<void> {
  for (let look = 1; ; look += 1) {
    try {
      await sources.job(id, options);
      return;
    } catch (error) {
      if (!isMillraceError(error, 'not_found')) throw error;
      if (look === LOOKS_MAX) throw isGone(id, error);
    }
    await sleep(pace.clock, backoffMs(BACKOFF, look, pace.random), options.signal);
  }
}

function isGone(id: JobId, cause: MillraceError): MillraceError {
  return new MillraceError({
    code: 'not_found',
    what: `Job ${id} is gone.`,
    why: 'It ended while this program had no connection, and has been removed since.',
    todo: 'Submit such jobs without `keep`, or raise unkeptRetentionMs.',
    cause,
  });
}

/** The job as of an event at least: after a fail-over the answer may come from a node that is behind. */
async function jobSince(
  sources: Sources,
  pace: Pace,
  id: JobId,
  seq: number,
  options: CallOptions,
): Promise<DatedJob> {
  const startedMs = pace.clock.monotonicMs();
  for (let attempt = 1; ; attempt += 1) {
    const job = await sources.job(id, options);
    if (job.asOf.seq >= seq) return job;
    const isLate = pace.clock.monotonicMs() - startedMs > pace.retryBudgetMs;
    if (isLate && options.retriesForever !== true) throw isBehind(id, job, seq);
    await sleep(pace.clock, backoffMs(BACKOFF, attempt, pace.random), options.signal);
  }
}

function isBehind(id: JobId, job: DatedJob, seq: number): MillraceError {
  return new MillraceError({
    code: 'unreachable',
    what: `Job ${id} has ended, but the responding server has only events up to ${job.asOf.seq}, not ${seq}.`,
    todo: 'Ask a server that is up to date.',
  });
}
