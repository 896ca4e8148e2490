/** Jobs, page after page, with the terms that only the page can look at. */
import type { JobSummary } from '../../src/scheduler/contract/index.ts';
import { call } from '../api/call.ts';
import { serverNow } from '../words.ts';
import { type ParsedTerm, fits, hasLocalPart, serverPart } from './job-filter.ts';

export interface JobsPage {
  readonly jobs: readonly JobSummary[];
  readonly cursor: string | null;
  /** How many were read to find these. */
  readonly looked: number;
}

const PAGE = 100;
const LOCAL_PAGE = 500;
/** A search must not read the whole store. */
const LOOK_MAX = 5_000;

export async function jobsPage(
  terms: readonly ParsedTerm[],
  from: string | null,
  signal?: AbortSignal,
): Promise<JobsPage> {
  const id = terms.find(({ term }) => term.kind === 'id')?.term;
  if (id?.kind === 'id') return oneJob(id.id, signal);
  const isLocal = hasLocalPart(terms);
  const found: JobSummary[] = [];
  let [cursor, looked] = [from, 0];
  for (;;) {
    const { labels = [], ...fields } = serverPart(terms, serverNow());
    const query = new URLSearchParams({
      ...fields,
      limit: String(isLocal ? LOCAL_PAGE : PAGE),
    });
    for (const label of labels) query.append('label', label);
    if (cursor !== null) query.set('cursor', cursor);
    const page = await call<{ jobs: JobSummary[]; cursor: string | null }>(`jobs?${query}`, {
      signal,
    });
    found.push(...page.jobs.filter((job) => fits(job, terms, serverNow())));
    looked += page.jobs.length;
    ({ cursor } = page);
    if (cursor === null || found.length >= PAGE || looked >= LOOK_MAX)
      return { jobs: found, cursor, looked };
  }
}

async function oneJob(id: string, signal?: AbortSignal): Promise<JobsPage> {
  const job = await call<JobSummary>(`jobs/${encodeURIComponent(id)}`, { signal });
  return { jobs: [job], cursor: null, looked: 1 };
}
