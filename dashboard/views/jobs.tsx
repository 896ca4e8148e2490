/** Jobs: one box to search, counts by state, and a list that follows what happens. */
import { type Signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { EventShape, JobSummary } from '../../src/scheduler/contract/index.ts';
import type { JobState } from '../../src/scheduler/core/index.ts';
import { may } from '../api/cluster-status.ts';
import { listen } from '../api/live.ts';
import { type Problem, asProblem } from '../api/problem.ts';
import { useKeys } from '../keyboard.ts';
import {
  Ago,
  Empty,
  Loading,
  ProblemNote,
  ShortId,
  StateMark,
  Took,
  StaleNote,
} from '../parts/marks.tsx';
import { useResource } from '../parts/resource.ts';
import { VirtualList } from '../parts/virtual-list.tsx';
import { go, link, replaceQuery, route } from '../route.ts';
import { count, errorWords } from '../words.ts';
import { Awaited } from './awaited.tsx';
import { BulkDialog, whyNotAll } from './bulk.tsx';
import { type ParsedTerm, fits, parseFilter } from './job-filter.ts';
import { jobsPage, type JobsPage } from './job-pages.ts';
import { StartJob } from './start/start-job.tsx';
import { StateCounts } from './state-counts.tsx';

const ROW = 44;

export function JobsView(): JSX.Element {
  const text = route.value.query.get('q') ?? '';
  const draft = useSignal(text);
  const isStarting = useSignal(false);
  const isBulk = useSignal(false);
  const parsed = parseFilter(draft.value);
  const shown = parseFilter(text);
  useEffect(() => {
    if (document.activeElement?.hasAttribute('data-search') !== true) draft.value = text;
  }, [text]);
  const set = (value: string): void => {
    draft.value = value;
    if (parseFilter(value).ok) replaceQuery({ q: value.trim() });
  };
  return (
    <section class="view fill">
      <div class="view-head">
        <h1>Jobs</h1>
        <StateCounts text={draft.value} set={set} />
        {may('submit') && (
          <div class="actions">
            {shown.ok && shown.terms.length > 0 && (
              <button
                type="button"
                disabled={whyNotAll(shown.terms) !== null}
                title={whyNotAll(shown.terms) ?? 'One action on all that fit'}
                onClick={() => (isBulk.value = true)}
              >
                Act on all
              </button>
            )}
            <button type="button" onClick={() => (isStarting.value = true)}>
              Start a job
            </button>
          </div>
        )}
        {isBulk.value && shown.ok && (
          <BulkDialog terms={shown.terms} close={() => (isBulk.value = false)} />
        )}
        {isStarting.value && <StartJob close={() => (isStarting.value = false)} />}
      </div>
      <search class="search">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9zM10.4 10.4l3.4 3.4" />
        </svg>
        <input
          data-search
          type="search"
          aria-label="Search jobs"
          aria-invalid={!parsed.ok}
          aria-describedby="search-note"
          placeholder="state:failed name:order* label.team=billing waits:approval age<1h, or a job id"
          value={draft.value}
          onInput={(event) => set(event.currentTarget.value)}
          onKeyDown={(event) => leaveOnEscape(event)}
          spellcheck={false}
        />
        <kbd aria-hidden="true">/</kbd>
      </search>
      <p id="search-note" class="search-note">
        {parsed.ok ? (
          <Chips terms={parsed.terms} remove={(term) => set(without(parsed.terms, term))} />
        ) : (
          <span class="error">{parsed.message}</span>
        )}
      </p>
      <JobList key={text} terms={shown.ok ? shown.terms : []} />
    </section>
  );
}

function leaveOnEscape(event: KeyboardEvent): void {
  if (event.key === 'Escape' || event.key === 'Enter') (event.currentTarget as HTMLElement).blur();
}

const without = (terms: readonly ParsedTerm[], gone: ParsedTerm): string =>
  terms.flatMap((each) => (each === gone ? [] : [each.text])).join(' ');

function Chips(props: {
  readonly terms: readonly ParsedTerm[];
  readonly remove: (term: ParsedTerm) => void;
}): JSX.Element {
  return (
    <>
      {props.terms.map((term) => (
        <button
          key={term.text}
          type="button"
          class="chip"
          onClick={() => props.remove(term)}
          aria-label={`Remove ${term.text}`}
        >
          {term.text}
          <span aria-hidden="true">×</span>
        </button>
      ))}
    </>
  );
}

interface List {
  readonly jobs: readonly JobSummary[];
  readonly cursor: string | null;
  readonly looked: number;
}

function JobList({ terms }: { readonly terms: readonly ParsedTerm[] }): JSX.Element {
  const list = useSignal<List | null>(null);
  const more = useSignal<{ isLoading: boolean; problem: Problem | null }>({
    isLoading: false,
    problem: null,
  });
  const selected = useSignal<number | null>(null);
  const first = useResource('first', (signal) => jobsPage(terms, null, signal), {
    // A task that waits for a signal is suspended.
    refreshOn: ({ kind }) => kind.startsWith('job.') || kind === 'suspended',
    everyMs: 1_000,
  });
  const page = first.state.value.value;
  useEffect(() => {
    if (page !== null) list.value = merged(list.peek(), page);
  }, [page]);
  useEffect(() => listen((event) => patch(list, event, terms)), []);
  useSelection(list, selected);
  const { problem } = first.state.value;
  const now = list.value;
  if (now === null) {
    if (problem?.status === 404) return <NoJobs isFiltered />;
    return problem === null ? <Loading /> : <ProblemNote problem={problem} />;
  }
  const loadMore = async (): Promise<void> => {
    const { cursor } = list.value ?? { cursor: null };
    if (cursor === null || more.value.isLoading) return;
    more.value = { isLoading: true, problem: null };
    try {
      const next = await jobsPage(terms, cursor);
      list.value = {
        ...next,
        jobs: [...(list.value?.jobs ?? []), ...next.jobs],
        looked: (list.value?.looked ?? 0) + next.looked,
      };
      more.value = { isLoading: false, problem: null };
    } catch (error) {
      more.value = { isLoading: false, problem: asProblem(error) };
    }
  };
  if (now.jobs.length === 0 && now.cursor === null) return <NoJobs isFiltered={terms.length > 0} />;
  return (
    <>
      <StaleNote problem={problem} />
      <VirtualList
        label="Jobs"
        class="jobs"
        count={now.jobs.length + (now.cursor === null ? 0 : 1)}
        rowHeight={ROW}
        reveal={selected.value}
        header={<JobHeader />}
        row={(at) => {
          const job = now.jobs[at];
          if (job !== undefined)
            return <JobRow key={job.id} job={job} isSelected={at === selected.value} />;
          return (
            <MoreRow
              key="more"
              state={more.value}
              looked={now.looked}
              load={() => void loadMore()}
            />
          );
        }}
      />
    </>
  );
}

function NoJobs({ isFiltered }: { readonly isFiltered: boolean }): JSX.Element {
  if (isFiltered) return <Empty title="No job fits">Change the search, or clear it.</Empty>;
  return (
    <Empty title="No jobs yet">
      Submit one: <code>millrace submit job.json</code>
    </Empty>
  );
}

function useSelection(list: Signal<List | null>, selected: Signal<number | null>): void {
  const move = (by: number): void => {
    const last = (list.value?.jobs.length ?? 0) - 1;
    if (last >= 0) selected.value = Math.max(0, Math.min(last, (selected.value ?? -1) + by));
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      const job = list.value?.jobs[selected.value ?? -1];
      if (job !== undefined) go(link(['jobs', job.id]));
    },
  });
}

/** Reloads the first page; what was loaded behind it stays. */
function merged(old: List | null, page: JobsPage): List {
  if (old === null || page.cursor === null) return page;
  const oldest = page.jobs.at(-1)?.no ?? Infinity;
  const rest = old.jobs.filter((job) => job.no < oldest);
  return rest.length === 0
    ? page
    : { jobs: [...page.jobs, ...rest], cursor: old.cursor, looked: old.looked };
}

const STATE_BY_EVENT: Readonly<Record<string, JobState>> = {
  'job.started': 'running',
  'job.succeeded': 'succeeded',
  'job.failed': 'failed',
  'job.cancelled': 'cancelled',
  'job.rerun': 'running',
};

/** Jobs further down are not read again; what events tell of them is shown all the same. */
function patch(
  list: Signal<List | null>,
  event: EventShape | null,
  terms: readonly ParsedTerm[],
): void {
  const state = event === null ? undefined : STATE_BY_EVENT[event.kind];
  const now = list.peek();
  if (event === null || state === undefined || now === null) return;
  const at = now.jobs.findIndex(({ id }) => id === event.job);
  const job = now.jobs[at];
  if (job === undefined) return;
  const isOver = state !== 'running';
  const next: JobSummary = {
    ...job,
    state,
    startedAt: job.startedAt ?? event.at,
    finishedAt: isOver ? event.at : null,
  };
  const jobs = fits(next, terms, Date.parse(event.at))
    ? now.jobs.with(at, next)
    : now.jobs.toSpliced(at, 1);
  list.value = { ...now, jobs };
}

function JobHeader(): JSX.Element {
  return (
    <div class="row head" role="row">
      <span role="columnheader">State</span>
      <span role="columnheader">Job</span>
      <span role="columnheader" class="right">
        Tasks
      </span>
      <span role="columnheader" class="right">
        Took
      </span>
      <span role="columnheader" class="right">
        Created
      </span>
    </div>
  );
}

function JobRow({
  job,
  isSelected,
}: {
  readonly job: JobSummary;
  readonly isSelected: boolean;
}): JSX.Element {
  const isQuery = job.name.startsWith('sql: ');
  return (
    <div class={`row ${isSelected ? 'selected' : ''}`} role="row">
      <span role="cell">
        <StateMark state={job.state} />
      </span>
      <span role="cell" class="job-name">
        <a class={isQuery ? 'cover query-name' : 'cover'} href={link(['jobs', job.id])}>
          {job.name}
        </a>
        <span class="under">
          <ShortId id={job.id} />
          {job.scheduleId !== null && <span> · {job.scheduleId}</span>}
          {job.run > 1 && <span> · run {job.run}</span>}
          {Object.entries(job.labels).map(([key, value]) => (
            <span key={key} class="label">
              {key}={value}
            </span>
          ))}
          {job.waitsFor !== undefined && <Awaited job={job} signals={job.waitsFor} />}
          {job.error !== null && (
            <span class={job.state === 'failed' ? 'error' : ''}>
              {' '}
              {errorWords(job.error.message)}
            </span>
          )}
        </span>
      </span>
      <span role="cell" class="right num">
        {count(job.taskCount)}
      </span>
      <span role="cell" class="right num">
        <Took from={job.startedAt} to={job.finishedAt} />
      </span>
      <span role="cell" class="right num">
        <Ago at={job.createdAt} />
      </span>
    </div>
  );
}

interface MoreProps {
  readonly state: { readonly isLoading: boolean; readonly problem: Problem | null };
  readonly looked: number;
  readonly load: () => void;
}

/** At the end of the list: loads more when it becomes visible. */
function MoreRow({ state, looked, load }: MoreProps): JSX.Element {
  useEffect(load, [looked]);
  return (
    <div class="row more" role="row">
      <span role="cell">
        {state.problem === null ? (
          <button type="button" class="quiet" onClick={load}>
            {state.isLoading ? 'Loading…' : `Go on after ${count(looked)}`}
          </button>
        ) : (
          <span class="error">{state.problem.message}</span>
        )}
      </span>
    </div>
  );
}
