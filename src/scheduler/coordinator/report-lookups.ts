/**
 * What only the store knows about the additions of a report: execution keys, and called jobs that are not in memory.
 */
import { isFinished } from '../core/index.ts';
import type {
  ChildJob,
  JobId,
  JobImage,
  JobState,
  ReportItem,
  SentFromTask,
  SubmittedJob,
  TaskDocument,
} from '../core/index.ts';
import type { ServiceOptions } from './service-options.ts';
import { keyScopes, knownKeys } from './known-keys.ts';
import type { KnownKeys } from './known-keys.ts';

export interface Found {
  readonly keys: KnownKeys;
  /** Called jobs that are over, by id. */
  readonly ended: ReadonlyMap<JobId, JobState>;
  /** Called jobs that live, but are not in memory yet. */
  readonly images: readonly JobImage[];
}

type Where = Pick<ServiceOptions, 'store' | 'shard' | 'dispatcher'>;

/** Jobs that are looked up at the same time. */
const LOOKS = 16;

/** Null when nothing has to be looked up. */
export function lookUp(where: Where, items: readonly ReportItem[]): (() => Promise<Found>) | null {
  // Most reports add nothing.
  if (!items.some((item) => item.kind === 'suspended' || hasJob(item) || hasEvent(item)))
    return null;
  const jobs = items.flatMap(jobsOf);
  const called = jobs.flatMap(({ document }) => document?.tasks ?? []);
  const tasks = [...items.flatMap(childrenOf), ...called];
  const scopes = keyScopes(tasks);
  if (scopes.length === 0 && jobs.length === 0) return null;
  return async () => {
    const keys = scopes.length === 0 ? {} : await knownKeys(where, scopes);
    const ended = new Map<JobId, JobState>();
    const images: JobImage[] = [];
    const ids = [...new Set(jobs.map(({ jobId }) => jobId))];
    for (let at = 0; at < ids.length; at += LOOKS) {
      const looks = ids.slice(at, at + LOOKS).map((id) => lookAt(where, id, ended, images));
      await Promise.all(looks);
    }
    return { keys, ended, images };
  };
}

async function lookAt(
  { store, shard, dispatcher }: Where,
  id: JobId,
  ended: Map<JobId, JobState>,
  images: JobImage[],
): Promise<void> {
  // Ends between now and the report are noted in memory.
  if (dispatcher.peek((state) => state.jobsById.has(id))) return;
  const row = await store.jobRow(shard, id);
  if (row === null) return;
  if (isFinished(row.state)) {
    ended.set(id, row.state);
    return;
  }
  const image = await store.loadJob(shard, id);
  if (image !== null) images.push(image);
}

/** The item with what was found about it. */
export function withFound(item: ReportItem, { keys, ended }: Found): ReportItem {
  if (hasJob(item)) {
    return { ...item, job: { ...item.job, ...keys, ended: ended.get(item.job.jobId) ?? null } };
  }
  if (hasEvent(item)) {
    const jobs = item.sent.jobs.map((job) => {
      return { ...job, ...keys, ended: ended.get(job.jobId) ?? null };
    });
    return { ...item, sent: { ...item.sent, jobs } };
  }
  if (item.kind !== 'suspended') return item;
  const { until } = item;
  if (until.type === 'children') return { ...item, until: { ...until, ...keys } };
  if (until.jobs.length === 0) return item;
  const jobs = until.jobs.map((job): ChildJob => {
    return { ...job, ...keys, ended: ended.get(job.jobId) ?? null };
  });
  return { ...item, until: { ...until, jobs } };
}

type SubmittingStep = Extract<ReportItem, { readonly kind: 'step' }> & {
  readonly job: SubmittedJob;
};

function hasJob(item: ReportItem): item is SubmittingStep {
  return item.kind === 'step' && item.job !== undefined;
}

type SendingStep = Extract<ReportItem, { readonly kind: 'step' }> & {
  readonly sent: SentFromTask;
};

function hasEvent(item: ReportItem): item is SendingStep {
  return item.kind === 'step' && item.sent !== undefined;
}

function childrenOf(item: ReportItem): readonly TaskDocument[] {
  return item.kind === 'suspended' && item.until.type === 'children' ? item.until.tasks : [];
}

function jobsOf(item: ReportItem): readonly (ChildJob | SubmittedJob)[] {
  if (hasJob(item)) return [item.job];
  if (hasEvent(item)) return item.sent.jobs;
  return item.kind === 'suspended' && item.until.type === 'wait' ? item.until.jobs : [];
}
