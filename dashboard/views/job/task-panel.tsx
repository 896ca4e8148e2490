/** One task: what it waits for, its attempts, the jobs that it calls, its input, steps and result. */
import type { JSX } from 'preact';
import type {
  AttemptOutcome,
  AttemptShape,
  JobShape,
  JobSummary,
  TaskDetail,
  TaskShape,
} from '../../../src/scheduler/contract/index.ts';
import { call } from '../../api/call.ts';
import { JsonView } from '../../parts/json-view.tsx';
import {
  ClockTime,
  Glyph,
  Loading,
  ShortId,
  StaleNote,
  StateMark,
  Took,
} from '../../parts/marks.tsx';
import { useResource } from '../../parts/resource.ts';
import { link } from '../../route.ts';
import { errorWords, plural } from '../../words.ts';
import { type CalledJob, calledJobs, submittedJobs } from './called-jobs.ts';
import { shownSteps } from './steps.ts';
import { TaskActions } from './task-actions.tsx';
import { Why } from './why.tsx';

export interface TaskPanelProps {
  readonly job: JobShape;
  readonly task: TaskShape;
  readonly select: (task: string) => void;
  readonly close: () => void;
}

const WAITS = new Set(['blocked', 'ready', 'delayed']);

export function TaskPanel({ job, task, select, close }: TaskPanelProps): JSX.Element {
  const path = `jobs/${encodeURIComponent(job.id)}/tasks/${encodeURIComponent(task.id)}`;
  const { state } = useResource(path, (signal) => call<TaskDetail>(path, { signal }), {
    refreshOn: (event) => event.job === job.id && event.task === task.id,
    everyMs: 1_000,
  });
  const { value: detail, problem } = state.value;
  return (
    <aside class="task-panel" aria-label={`Task ${task.id}`}>
      <header>
        <h2>{task.id}</h2>
        <button type="button" class="icon-button" onClick={close} aria-label="Close">
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M4 4l8 8M12 4l-8 8" />
          </svg>
        </button>
      </header>
      <p class="facts">
        <StateMark state={task.state} />
        <span>{task.executor}</span>
        {task.node !== null && <span>on {task.node}</span>}
        {task.attempt > 0 && <span>attempt {task.attempt}</span>}
        {task.run > 1 && <span>run {task.run}</span>}
        {task.state === 'running' && task.progress > 0 && (
          <span class="num">{Math.round(task.progress * 100)} %</span>
        )}
      </p>
      <TaskActions job={job} task={task} />
      {task.error !== null && (
        <div class="problem">
          <strong>
            {task.state === 'failed' ? task.error.code : `last error: ${task.error.code}`}
          </strong>
          <p class="wrap">{errorWords(task.error.message)}</p>
        </div>
      )}
      {WAITS.has(task.state) && <Why job={job.id} task={task.id} />}
      <Relations job={job} task={task} select={select} />
      {detail === null ? (
        problem === null ? (
          <Loading lines={3} />
        ) : (
          <StaleNote problem={problem} />
        )
      ) : (
        <>
          <CalledJobs jobs={calledJobs(detail.steps, task.waiting)} />
          <SubmittedJobs ids={submittedJobs(detail.steps)} />
          <Attempts attempts={detail.attempts} />
          <section>
            <h3>Input</h3>
            <JsonView value={detail.input} name={`${task.id}-input`} />
          </section>
          <Steps steps={detail.steps} />
        </>
      )}
      {task.state === 'succeeded' && (
        <section>
          <h3>Result</h3>
          {task.isResultOmitted === true ? (
            <p class="muted">It is too large to be shown with the job.</p>
          ) : (
            <JsonView value={task.result} name={`${task.id}-result`} />
          )}
        </section>
      )}
    </aside>
  );
}

function CalledJobs({ jobs }: { readonly jobs: readonly CalledJob[] }): JSX.Element | null {
  if (jobs.length === 0) return null;
  return (
    <section>
      <h3>Called jobs</h3>
      <ul class="plain">
        {jobs.map((called) =>
          called.state === null ? (
            <LiveCall key={called.id} id={called.id} />
          ) : (
            <Called key={called.id} {...called} state={called.state} />
          ),
        )}
      </ul>
    </section>
  );
}

/** How many are shown: each is read by itself. */
const SUBMITTED_MAX = 20;

function SubmittedJobs({ ids }: { readonly ids: readonly string[] }): JSX.Element | null {
  if (ids.length === 0) return null;
  return (
    <section>
      <h3>Submitted jobs</h3>
      <ul class="plain">
        {ids.slice(0, SUBMITTED_MAX).map((id) => (
          <LiveCall key={id} id={id} />
        ))}
      </ul>
      {ids.length > SUBMITTED_MAX && <p class="muted">and {ids.length - SUBMITTED_MAX} more</p>}
    </section>
  );
}

/** A called job that has not ended: only the job itself says how it stands. */
function LiveCall({ id }: { readonly id: string }): JSX.Element {
  const path = `jobs/${encodeURIComponent(id)}`;
  const { state } = useResource(path, (signal) => call<JobSummary>(path, { signal }), {
    refreshOn: (event) => event.job === id && event.task === null,
    everyMs: 1_000,
  });
  const { value } = state.value;
  return <Called id={id} name={value?.name ?? null} state={value?.state ?? 'queued'} />;
}

function Called({ id, name, state }: CalledJob & { readonly state: string }): JSX.Element {
  return (
    <li class="called">
      <Glyph state={state} />
      <a href={link(['jobs', id])} title={id}>
        {name ?? <ShortId id={id} />}
      </a>
      <span class="muted">{state}</span>
    </li>
  );
}

const SHOWN_MAX = 12;

function Relations(props: Pick<TaskPanelProps, 'job' | 'task' | 'select'>): JSX.Element {
  const { job, task, select } = props;
  const below = job.tasks
    .filter(({ dependsOn }) => dependsOn.includes(task.id))
    .map(({ id }) => id);
  const children = job.tasks.filter(({ parent }) => parent === task.id).map(({ id }) => id);
  const parts: readonly (readonly [string, readonly string[]])[] = [
    ['Parent', task.parent === null ? [] : [task.parent]],
    ['After', task.dependsOn],
    ['Before', below],
    ['Children', children],
  ];
  return (
    <dl class="relations">
      {parts
        .filter(([, ids]) => ids.length > 0)
        .map(([title, ids]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>
              {ids.slice(0, SHOWN_MAX).map((id) => (
                <button key={id} type="button" class="quiet" onClick={() => select(id)}>
                  {id}
                </button>
              ))}
              {ids.length > SHOWN_MAX && (
                <span class="muted"> and {ids.length - SHOWN_MAX} more</span>
              )}
            </dd>
          </div>
        ))}
    </dl>
  );
}

const OUTCOME_STATES: Readonly<Record<AttemptOutcome, string>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  lost: 'failed',
  returned: 'queued',
  suspended: 'waiting',
  cancelled: 'cancelled',
  skipped: 'skipped',
  discarded: 'cancelled',
};

function Attempts({
  attempts,
}: {
  readonly attempts: readonly AttemptShape[];
}): JSX.Element | null {
  if (attempts.length === 0) return null;
  // What sleeps or waits leaves its node, and goes on later as the same attempt.
  const tries = new Set(attempts.map(({ run, attempt }) => `${run}.${attempt}`)).size;
  return (
    <section>
      <h3>
        {plural(tries, 'attempt')}
        {attempts.length > tries && `, in ${attempts.length} parts`}
      </h3>
      <ol class="attempts">
        {attempts.map(
          ({ run, attempt, fence, outcome, node, started, finished, error, speculative }) => {
            const state = outcome === null ? 'running' : OUTCOME_STATES[outcome];
            return (
              <li key={fence}>
                <span class={`state s-${state}`}>
                  <Glyph state={state} />
                  {outcome ?? 'running'}
                </span>
                <Took from={started} to={finished} />
                <span class="muted">
                  {run > 1 && `run ${run}, `}attempt {attempt}
                  {speculative && ', second node'} · {node ?? 'no node'}
                  {started !== null && (
                    <>
                      {' '}
                      · <ClockTime at={started} />
                    </>
                  )}
                </span>
                {error !== null && (
                  <span class="attempt-note wrap">
                    {error.code !== 'error' && `${error.code}: `}
                    {errorWords(error.message)}
                  </span>
                )}
              </li>
            );
          },
        )}
      </ol>
    </section>
  );
}

function Steps({ steps }: { readonly steps: TaskDetail['steps'] }): JSX.Element | null {
  const shown = shownSteps(steps);
  if (shown.length === 0) return null;
  return (
    <section>
      <h3>{plural(shown.length, 'step')}</h3>
      <ol class="attempts">
        {shown.map(({ key, title, tag, result }) => (
          <li key={key}>
            <details>
              <summary>
                {title}
                {tag !== null && <span class="tag">{tag}</span>}
              </summary>
              <JsonView value={result} name={title} />
            </details>
          </li>
        ))}
      </ol>
    </section>
  );
}
