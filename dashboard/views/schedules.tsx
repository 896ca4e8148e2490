/** Schedules: when each runs next, what became of its last jobs, and a hand on the switch. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { JobSummary, ScheduleShape } from '../../src/scheduler/contract/index.ts';
import { call, post } from '../api/call.ts';
import { may } from '../api/cluster-status.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Ago, Empty, Glyph, NotLoaded, StaleNote } from '../parts/marks.tsx';
import { useResource } from '../parts/resource.ts';
import { link } from '../route.ts';
import { ago, calendarTime, now, plural } from '../words.ts';
import { ScheduleForm } from './schedule-form.tsx';
import { MISFIRES, OVERLAPS, fieldsOf, timingWords, wordsFor, zoneOf } from './schedule-words.ts';

type Schedule = ScheduleShape & { readonly upcoming: readonly string[] };

export function SchedulesView(): JSX.Element {
  const { state, refresh } = useResource(
    'schedules',
    (signal) => call<{ schedules: readonly Schedule[] }>('schedules', { signal }),
    {
      refreshOn: ({ kind }) => kind.startsWith('schedule.'),
      everyMs: 1_000,
    },
  );
  const isNew = useSignal(false);
  const { value, problem } = state.value;
  if (value === null) return <NotLoaded problem={problem} title="Schedules" />;
  return (
    <section class="view">
      <div class="view-head">
        <h1>Schedules</h1>
        <span class="muted num">{plural(value.schedules.length, 'schedule')}</span>
        {may('submit') && (
          <div class="actions">
            <button type="button" onClick={() => (isNew.value = true)}>
              New schedule
            </button>
          </div>
        )}
        {isNew.value && (
          <ScheduleForm schedule={null} close={() => (isNew.value = false)} refresh={refresh} />
        )}
      </div>
      <StaleNote problem={problem} />
      {value.schedules.length === 0 && (
        <Empty title="No schedules">
          Make one: <code>millrace schedules put nightly schedule.json</code>
        </Empty>
      )}
      <div class="cards wide">
        {value.schedules.map((schedule) => (
          <ScheduleCard key={schedule.id} schedule={schedule} refresh={refresh} />
        ))}
      </div>
    </section>
  );
}

function ScheduleCard({
  schedule,
  refresh,
}: {
  readonly schedule: Schedule;
  readonly refresh: () => void;
}): JSX.Element {
  const { id, spec, paused, upcoming, lastAt, lastJob } = schedule;
  const { misfire = 'once', overlap = 'skip', document } = fieldsOf(spec);
  const { name } = fieldsOf(document);
  const isFine = upcoming.some((at) => new Date(at).getUTCSeconds() !== 0);
  return (
    <article class="card">
      <header>
        <h2>
          {id}
          {paused && <span class="tag">paused</span>}
        </h2>
        <ScheduleActions schedule={schedule} refresh={refresh} />
      </header>
      <p class="timing">{timingWords(spec)}</p>
      <dl class="pairs">
        <dt>Job</dt>
        <dd class="wrap">{typeof name === 'string' ? name : id}</dd>
        <dt>Last</dt>
        <dd>
          {lastJob === null ? (
            <Ago at={lastAt} />
          ) : (
            <a href={link(['jobs', lastJob])}>
              {lastAt === null ? 'started by hand' : <Ago at={lastAt} />}
            </a>
          )}
        </dd>
        <dt>Outcomes</dt>
        <dd>
          <Outcomes schedule={schedule} name={typeof name === 'string' ? name : null} />
        </dd>
        <dt>If late</dt>
        <dd>{wordsFor(MISFIRES, misfire)}</dd>
        <dt>If one runs</dt>
        <dd>{wordsFor(OVERLAPS, overlap)}</dd>
        <dt>Next</dt>
        <dd>
          {upcoming.length === 0 ? (
            <span class="none">{paused ? 'not while it is paused' : 'never'}</span>
          ) : (
            <ol class="plain">
              {upcoming.map((at) => (
                <li key={at}>
                  <time dateTime={at} title={at}>
                    {calendarTime(at, zoneOf(spec), isFine)}
                  </time>{' '}
                  <span class="muted">{ago(at, now.value)}</span>
                </li>
              ))}
            </ol>
          )}
        </dd>
      </dl>
    </article>
  );
}

const OUTCOMES_MAX = 20;

/** The last jobs of this schedule, oldest first. */
function Outcomes({
  schedule,
  name,
}: {
  readonly schedule: Schedule;
  readonly name: string | null;
}): JSX.Element {
  const query = new URLSearchParams({ limit: '100', ...(name === null ? {} : { name }) });
  const { state } = useResource(
    `outcomes ${schedule.id} ${schedule.lastJob ?? ''}`,
    (signal) => call<{ jobs: readonly JobSummary[] }>(`jobs?${query}`, { signal }),
    {
      refreshOn: ({ job, kind }) => job === schedule.lastJob && kind.startsWith('job.'),
    },
  );
  const jobs = (state.value.value?.jobs ?? [])
    .filter(({ scheduleId }) => scheduleId === schedule.id)
    .slice(0, OUTCOMES_MAX);
  if (jobs.length === 0) return <span class="none">none yet</span>;
  return (
    <span class="outcomes">
      {jobs.toReversed().map((job) => (
        <a
          key={job.id}
          href={link(['jobs', job.id])}
          title={`${job.state}, ${calendarTime(job.createdAt)}`}
          aria-label={`${job.state}, ${calendarTime(job.createdAt)}`}
        >
          <Glyph state={job.state} />
        </a>
      ))}
    </span>
  );
}

function ScheduleActions({
  schedule,
  refresh,
}: {
  readonly schedule: Schedule;
  readonly refresh: () => void;
}): JSX.Element | null {
  const asked = useSignal<'trigger' | 'pause' | 'resume' | 'edit' | null>(null);
  if (!may('submit')) return null;
  const { id, paused } = schedule;
  const close = (): void => {
    asked.value = null;
  };
  const run = (action: string, news: string) => async (): Promise<string> => {
    await post(`schedules/${encodeURIComponent(id)}/${action}`);
    refresh();
    return news;
  };
  return (
    <div class="actions">
      <button type="button" onClick={() => (asked.value = 'trigger')}>
        Run now
      </button>
      <button type="button" onClick={() => (asked.value = paused ? 'resume' : 'pause')}>
        {paused ? 'Resume' : 'Pause'}
      </button>
      <button type="button" onClick={() => (asked.value = 'edit')}>
        Edit
      </button>
      {asked.value === 'edit' && (
        <ScheduleForm schedule={schedule} close={close} refresh={refresh} />
      )}
      {asked.value === 'trigger' && (
        <Confirm
          title={`Run ${id} now`}
          action="Run now"
          onClose={close}
          run={run('trigger', 'The job has started.')}
        >
          <p>One more job starts at once. The times that are planned stay as they are.</p>
        </Confirm>
      )}
      {asked.value === 'pause' && (
        <Confirm
          title={`Pause ${id}`}
          action="Pause"
          onClose={close}
          run={run('pause', `${id} is paused.`)}
        >
          <p>It starts no more jobs until it is resumed. A job that runs goes on.</p>
        </Confirm>
      )}
      {asked.value === 'resume' && (
        <Confirm
          title={`Resume ${id}`}
          action="Resume"
          onClose={close}
          run={run('resume', `${id} runs again.`)}
        >
          <p>It starts jobs again, from the next time on.</p>
        </Confirm>
      )}
    </div>
  );
}
