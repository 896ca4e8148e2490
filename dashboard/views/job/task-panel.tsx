/** One task, with its attempts, what it waits for and what it gave. */
import type { JSX } from 'preact';
import type { JobShape, TaskShape } from '../../../src/scheduler/contract/index.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { ClockTime, StateMark } from '../../parts/marks.tsx';
import { link } from '../../route.ts';
import { duration, now, plural } from '../../words.ts';
import { type Span, type SpanBook, attemptsIn } from './spans.ts';
import { TaskActions } from './task-actions.tsx';
import { Why } from './why.tsx';

export interface TaskPanelProps {
  readonly job: JobShape;
  readonly task: TaskShape;
  readonly book: SpanBook;
  readonly select: (task: string) => void;
  readonly close: () => void;
}

const WAITS = new Set(['blocked', 'ready', 'delayed']);

export function TaskPanel({ job, task, book, select, close }: TaskPanelProps): JSX.Element {
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
          <strong>{task.error.code}</strong>
          <p class="wrap">{task.error.message}</p>
        </div>
      )}
      {WAITS.has(task.state) && <Why job={job.id} task={task.id} />}
      <CalledJobs waiting={task.waiting} />
      <Relations job={job} task={task} select={select} />
      <Attempts spans={attemptsIn(book.of(task))} />
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

/** Jobs that a task waits for are named in its reason. */
function CalledJobs({ waiting }: { readonly waiting: string | null }): JSX.Element | null {
  const [, names = ''] =
    /^waits for job (.+?)(?:, whose|;| or signal| for another|$)/.exec(waiting ?? '') ?? [];
  const ids = names.split(' or ').filter((id) => id !== '' && id !== '...');
  if (ids.length === 0) return null;
  return (
    <section>
      <h3>Called jobs</h3>
      <ul class="plain">
        {ids.map((id) => (
          <li key={id}>
            <a href={link(['jobs', id])}>
              <code>{id}</code>
            </a>
          </li>
        ))}
      </ul>
    </section>
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

function Attempts({ spans }: { readonly spans: readonly Span[] }): JSX.Element | null {
  if (spans.length === 0) return null;
  return (
    <section>
      <h3>{plural(spans.length, 'attempt')}</h3>
      <ol class="attempts">
        {spans.map((span) => (
          <li key={span.fromMs}>
            <StateMark state={span.outcome === 'lost' ? 'failed' : (span.outcome ?? 'running')} />
            <span class="num">{duration((span.toMs ?? now.value) - span.fromMs)}</span>
            <span class="muted">
              {span.node ?? 'no node'} · <ClockTime at={new Date(span.fromMs).toISOString()} />
            </span>
            {span.note !== null && <span class="attempt-note wrap">{span.note}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}
