/** A job: a sentence first, then its tasks over time, as a graph, as a list of events, and what it gave. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { JobShape } from '../../../src/scheduler/contract/index.ts';
import { call } from '../../api/call.ts';
import { me } from '../../api/cluster-status.ts';
import { followJob, isPaused } from '../../api/live.ts';
import { type Problem, asProblem, isAbort } from '../../api/problem.ts';
import { useKeys } from '../../keyboard.ts';
import { JsonView } from '../../parts/json-view.tsx';
import {
  Ago,
  ClockTime,
  Empty,
  Glyph,
  Id,
  JobLinks,
  NotLoaded,
  RunTime,
  StaleNote,
  StateMark,
} from '../../parts/marks.tsx';
import { useResource } from '../../parts/resource.ts';
import { Tabs } from '../../parts/tabs.tsx';
import { link, replaceQuery, route } from '../../route.ts';
import { calendarTime, count, errorWords, now, plural, shortId } from '../../words.ts';
import { EventTable } from '../event-table.tsx';
import { PRIORITIES } from '../job-fields.tsx';
import { labelTerm } from '../job-filter.ts';
import { callerOf } from './called-jobs.ts';
import { Graph } from './graph.tsx';
import { JobActions } from './job-actions.tsx';
import { Logs } from './logs.tsx';
import { SpanBook } from './spans.ts';
import { sentSignals } from './steps.ts';
import { TaskPanel } from './task-panel.tsx';
import { Timeline } from './timeline.tsx';
import { verdictOf } from './verdict.ts';

const POLL_MS = 15_000;
const NORMAL = 2;

export function JobView({ id }: { readonly id: string }): JSX.Element {
  const path = `jobs/${encodeURIComponent(id)}`;
  const size = useRef(0);
  const { state } = useResource(path, (signal) => call<JobShape>(path, { signal }), {
    refreshOn: (event) => event.job === id,
    // Ten thousand tasks are megabytes: such a job is read every few seconds.
    everyMs: 700 + size.current / 2,
    // Retention removes a job without an event.
    pollMs: POLL_MS,
  });
  const { value: job, problem } = state.value;
  size.current = job?.tasks.length ?? 0;
  useKeys({ p: () => (isPaused.value = !isPaused.value) });
  if (job === null) return <NotLoaded problem={problem} missing={<Gone id={id} />} />;
  return (
    <section class="view fill">
      {problem !== null && <Stale problem={problem} />}
      <JobHead job={job} />
      <JobBody job={job} />
    </section>
  );
}

function Gone({ id }: { readonly id: string }): JSX.Element {
  return (
    <Empty title="There is no such job">
      <p>
        <code>{id}</code> was never submitted here, or it ended so long ago that it was removed.
      </p>
      <a href="#/jobs">Back to the jobs</a>
    </Empty>
  );
}

function Stale({ problem }: { readonly problem: Problem }): JSX.Element {
  if (problem.status !== 404) return <StaleNote problem={problem} />;
  return (
    <div class="problem" role="alert">
      <strong>This job is gone</strong>
      <p>It was removed from the store while this page was open. You see what was read last.</p>
    </div>
  );
}

function StartedBy({ by }: { readonly by: NonNullable<JobShape['startedBy']> }): JSX.Element {
  if ('event' in by) return <span title={`event ${by.id}`}>started by {by.event}</span>;
  return (
    <span>
      submitted by <a href={link(['jobs', by.job])}>{shortId(by.job)}</a>
    </span>
  );
}

function JobHead({ job }: { readonly job: JobShape }): JSX.Element {
  const verdict = verdictOf(job, now.value);
  const caller = callerOf(job.id);
  return (
    <>
      <p class="crumb">
        <a href="#/jobs">Jobs</a>
      </p>
      <div class="view-head">
        <h1 class="wrap">{job.name}</h1>
        <JobActions job={job} />
      </div>
      <p class="facts">
        <StateMark state={job.state} />
        <Id id={job.id} />
        <span>
          created <Ago at={job.createdAt} />
        </span>
        <RunTime of={job} />
        {job.priority !== NORMAL && <span>{PRIORITIES[job.priority]} priority</span>}
        {job.run > 1 && <span>run {job.run}</span>}
        {caller !== null && (
          <span>
            called by <a href={link(['jobs', caller])}>{shortId(caller)}</a>
          </span>
        )}
        {job.startedBy !== null && caller === null && <StartedBy by={job.startedBy} />}
        {job.name.startsWith('sql: ') && <a href={link(['queries', job.id])}>as a query</a>}
        {job.scheduleId !== null && (
          <a href={link(['schedules'], { id: job.scheduleId })}>{job.scheduleId}</a>
        )}
        {job.runAt !== null && job.startedAt === null && (
          <span>starts {calendarTime(job.runAt)}</span>
        )}
        {job.keep !== 'all' && (
          <span title="What remains of it after its end">keep {job.keep}</span>
        )}
        {Object.entries(job.labels).map(([key, value]) => (
          <a key={key} class="label" href={link(['jobs'], { q: labelTerm(key, value) })}>
            {key}={value}
          </a>
        ))}
        {job.trace !== null && <TraceLink trace={job.trace} />}
        {job.idempotencyKey !== null && (
          <span title="Idempotency key">key {job.idempotencyKey}</span>
        )}
      </p>
      <p class={`verdict v-${verdict.state}`}>
        <Glyph state={verdict.state} />
        <span class="wrap">
          <strong>{verdict.head}</strong> <JobLinks text={verdict.text} />{' '}
          {verdict.task !== null && (
            <button
              type="button"
              class="quiet"
              onClick={() => replaceQuery({ task: verdict.task ?? '' })}
            >
              show {verdict.task}
            </button>
          )}
        </span>
      </p>
    </>
  );
}

/** To wherever this cluster's traces are shown, if the server says so. */
function TraceLink({ trace }: { readonly trace: string }): JSX.Element {
  const template = me.value?.node.traceUrl ?? null;
  if (template === null || !/^https?:\/\//.test(template))
    return <span title="Trace id">trace {shortId(trace)}</span>;
  return (
    <a
      href={template.replace('{trace}', encodeURIComponent(trace))}
      target="_blank"
      rel="noreferrer"
    >
      trace {shortId(trace)}
    </a>
  );
}

/** The job's own events, followed for as long as it is shown. */
function useSpans(job: JobShape): { readonly book: SpanBook; readonly problem: Problem | null } {
  const book = useRef(new SpanBook());
  const version = useSignal(0);
  const problem = useSignal<Problem | null>(null);
  useEffect(() => {
    const over = new AbortController();
    book.current = new SpanBook();
    followJob(
      job.id,
      (events) => {
        book.current.add(events);
        version.value += 1;
      },
      over.signal,
    ).catch((error: unknown) => {
      if (!isAbort(error)) problem.value = asProblem(error);
    });
    return () => over.abort();
  }, [job.id, isPaused.value]);
  void version.value;
  return { book: book.current, problem: problem.value };
}

function JobBody({ job }: { readonly job: JobShape }): JSX.Element {
  const { query } = route.value;
  const tab = query.get('tab') ?? 'timeline';
  const { book, problem } = useSpans(job);
  const chosen = job.tasks.find(({ id }) => id === query.get('task'));
  const address = (task: string): Record<string, string> => ({
    ...(tab === 'timeline' ? {} : { tab }),
    task,
  });
  const select = (task: string): void => replaceQuery(address(task === chosen?.id ? '' : task));
  useKeys(chosen === undefined ? {} : { Escape: () => replaceQuery(address('')) });
  return (
    <>
      <Tabs
        label="Parts of the job"
        selected={tab}
        query={chosen === undefined ? {} : { task: chosen.id }}
        tabs={[
          { id: 'timeline', title: 'Timeline', count: count(job.tasks.length) },
          { id: 'graph', title: 'Graph' },
          { id: 'logs', title: 'Logs' },
          { id: 'events', title: 'Events', count: count(book.events.length) },
          { id: 'result', title: 'Result' },
        ]}
      />
      {problem !== null && (
        <p class="muted">
          The events of this job cannot be read: {problem.message} Times are those of the last
          attempt.
        </p>
      )}
      <div class={`job-body ${chosen === undefined ? '' : 'split'}`}>
        <div class="job-main">
          {tab === 'timeline' && (
            <Timeline job={job} book={book} selected={chosen?.id ?? null} select={select} />
          )}
          {tab === 'graph' && <Graph job={job} selected={chosen?.id ?? null} select={select} />}
          {tab === 'logs' && <Logs job={job} task={chosen?.id ?? null} />}
          {tab === 'events' && <EventTable events={book.events.toReversed()} hasJob={false} />}
          {tab === 'result' && <Outcome job={job} book={book} />}
        </div>
        {chosen !== undefined && (
          <TaskPanel
            job={job}
            task={chosen}
            select={(task) => replaceQuery(address(task))}
            close={() => replaceQuery(address(''))}
          />
        )}
      </div>
    </>
  );
}

/** What the job gave, and the signals that it got. */
function Outcome({ job, book }: { readonly job: JobShape; readonly book: SpanBook }): JSX.Element {
  const signals = sentSignals(book.events);
  return (
    <>
      <Result job={job} />
      {signals.length > 0 && (
        <section class="signals">
          <h2>{plural(signals.length, 'signal')}</h2>
          <ol class="attempts">
            {signals.map(({ seq, at, name, takenBy }) => (
              <li key={seq}>
                <strong class="wrap">{name}</strong>
                <span class="muted">
                  <ClockTime at={at} /> ·{' '}
                  {takenBy === null
                    ? 'kept for the first task that waits for it'
                    : `taken by ${takenBy}`}
                </span>
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

function Result({ job }: { readonly job: JobShape }): JSX.Element {
  if (job.isResultOmitted === true)
    return <Empty title="The result is too large to be shown here" />;
  if (job.state === 'succeeded') return <JsonView value={job.result} name="result" />;
  if (job.error !== null) {
    return (
      <div class="problem">
        <strong>{job.error.code}</strong>
        <p class="wrap">{errorWords(job.error.message)}</p>
      </div>
    );
  }
  return <Empty title="No result yet">It is there when the job has succeeded.</Empty>;
}
