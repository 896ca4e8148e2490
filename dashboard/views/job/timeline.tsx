/** The waterfall: a line for each task, with all its attempts and everything that it waited for. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { JobShape, TaskShape } from '../../../src/scheduler/contract/index.ts';
import { barPlace, percent } from '../../parts/bar-place.ts';
import { Empty, Glyph } from '../../parts/marks.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { useKeys } from '../../keyboard.ts';
import { duration, now, plural, withoutFigures } from '../../words.ts';
import { type Item, type TaskGroup, grouped, stateOfMany, tally } from './groups.ts';
import { type Span, type SpanBook, attemptsIn } from './spans.ts';
import { type TaskFilter, TaskTools, fits } from './task-filter.tsx';
import { type TimeScale, timeScale } from './time-scale.ts';
import { waitWords } from './wait-words.ts';

const ROW = 30;
/** Fewer tasks need no search. */
const TOOLS_FROM = 8;

export interface TimelineProps {
  readonly job: JobShape;
  readonly book: SpanBook;
  readonly selected: string | null;
  readonly select: (task: string) => void;
}

const KINDS: readonly (readonly [string, string])[] = [
  ['queued', 'queued'],
  ['running', 'running'],
  ['over', 'done'],
  ['waiting', 'waiting'],
  ['sleeping', 'sleeping'],
  ['backoff', 'back-off'],
  ['failed', 'failed'],
  ['returned', 'given back'],
];

export function Timeline({ job, book, selected, select }: TimelineProps): JSX.Element {
  const open = useSignal<ReadonlySet<string>>(new Set());
  const filter = useSignal<TaskFilter>({ search: '', state: null });
  const fitting = job.tasks.filter((task) => fits(task, filter.value));
  // Whoever looks for a task wants to see it, not the fan-out that it is part of.
  const isSought = filter.value.search.trim() !== '' || filter.value.state !== null;
  const ordered = inOrder(fitting, book);
  const items: readonly Item[] = isSought
    ? ordered.map((task) => ({ kind: 'task', task }))
    : grouped(ordered, open.value);
  const tasks: string[] = items.flatMap((item) => (item.kind === 'task' ? [item.task.id] : []));
  const move = (by: number) => (): void => {
    const next = tasks[Math.max(0, Math.min(tasks.length - 1, tasks.indexOf(selected ?? '') + by))];
    if (next !== undefined) select(next);
  };
  useKeys({ j: move(1), k: move(-1) });
  const fromMs = Date.parse(job.createdAt);
  const toMs = job.finishedAt === null ? now.value : Date.parse(job.finishedAt);
  const all = job.tasks.flatMap((task) => book.of(task));
  const scale = timeScale(all, fromMs, toMs, job.finishedAt === null);
  const toggle = (id: string): void => {
    const next = new Set(open.value);
    if (!next.delete(id)) next.add(id);
    open.value = next;
  };
  if (job.tasks.length === 0) return <Empty title="No tasks" />;
  return (
    <div class="timeline">
      {job.tasks.length > TOOLS_FROM && <TaskTools tasks={job.tasks} filter={filter} />}
      <Legend spans={all} />
      {items.length === 0 && <Empty title="No task fits">Change the search, or clear it.</Empty>}
      <VirtualList
        label="Timeline"
        class="lines"
        count={items.length}
        rowHeight={ROW}
        reveal={revealed(items, selected)}
        header={<Axis scale={scale} />}
        row={(at) => {
          const item = items[at] as Item;
          return item.kind === 'task' ? (
            <TaskLine
              key={item.task.id}
              task={item.task}
              spans={book.of(item.task)}
              scale={scale}
              isSelected={item.task.id === selected}
              select={select}
            />
          ) : (
            <GroupLine
              key={item.group.id}
              group={item.group}
              book={book}
              scale={scale}
              isOpen={open.value.has(item.group.id)}
              toggle={() => toggle(item.group.id)}
            />
          );
        }}
      />
    </div>
  );
}

/** Of what there is. */
function Legend({ spans }: { readonly spans: readonly Span[] }): JSX.Element {
  const present = new Set(spans.map((span) => (isOver(span) ? 'over' : barKind(span))));
  return (
    <ul class="legend">
      {KINDS.filter(([kind]) => present.has(kind)).map(([kind, title]) => (
        <li key={kind}>
          <span class={`swatch k-${kind}`} />
          {title}
        </li>
      ))}
    </ul>
  );
}

function revealed(items: readonly Item[], selected: string | null): number | null {
  const at = items.findIndex((item) => item.kind === 'task' && item.task.id === selected);
  return at < 0 ? null : at;
}

/** By when each first became ready; those that never did come last. */
function inOrder(tasks: readonly TaskShape[], book: SpanBook): readonly TaskShape[] {
  const since = new Map(tasks.map((task) => [task, book.of(task)[0]?.fromMs ?? Infinity]));
  return tasks.toSorted((a, b) => {
    const [x = 0, y = 0] = [since.get(a), since.get(b)];
    return x === y ? 0 : x - y;
  });
}

function Axis({ scale }: { readonly scale: TimeScale }): JSX.Element {
  return (
    <div class="line head" role="row">
      <span role="columnheader">Task</span>
      <span role="columnheader" class="track" aria-label="Time since the job was created">
        {scale.ticks.map(({ at, ms }) => (
          <span key={ms} class="tick" style={{ left: percent(at) }}>
            {duration(ms)}
          </span>
        ))}
        {scale.breaks.map(({ at, ms }) => (
          <span
            key={at}
            class="break"
            style={{ left: percent(at) }}
            title={`${duration(ms)} left out`}
          >
            // {duration(ms)}
          </span>
        ))}
      </span>
      <span role="columnheader" class="right">
        Ran
      </span>
    </div>
  );
}

interface LineProps {
  readonly task: TaskShape;
  readonly spans: readonly Span[];
  readonly scale: TimeScale;
  readonly isSelected: boolean;
  readonly select: (task: string) => void;
}

function TaskLine({ task, spans, scale, isSelected, select }: LineProps): JSX.Element {
  const attempts = attemptsIn(spans).length;
  return (
    <div class={`line row ${isSelected ? 'selected' : ''}`} role="row">
      <span role="cell" class="line-name">
        <Glyph state={task.state} />
        <button
          type="button"
          class="cover"
          onClick={() => select(task.id)}
          title={`${task.id} (${task.executor})`}
        >
          {task.id}
        </button>
        {attempts > 1 && <span class="times">×{attempts}</span>}
      </span>
      <span role="cell" class="track">
        {scale.breaks.map(({ at }) => (
          <span key={at} class="cut" style={{ left: percent(at) }} />
        ))}
        {spans.map((span, at) => (
          <Bar key={at} span={span} scale={scale} task={task} />
        ))}
      </span>
      <span role="cell" class="right num muted">
        {ranFor(spans)}
      </span>
    </div>
  );
}

function ranFor(spans: readonly Span[]): string {
  const runs = spans.filter(({ kind }) => kind === 'running');
  if (runs.length === 0) return '';
  return duration(runs.reduce((sum, { fromMs, toMs }) => sum + (toMs ?? now.value) - fromMs, 0));
}

function barKind({ outcome, kind }: Span): string {
  if (outcome === 'failed' || outcome === 'lost') return 'failed';
  return outcome === 'returned' ? outcome : kind;
}

/** It ran, and nothing went wrong. */
const isOver = (span: Span): boolean => barKind(span) === 'running' && span.toMs !== null;

function Bar({
  span,
  scale,
  task,
}: {
  readonly span: Span;
  readonly scale: TimeScale;
  readonly task: TaskShape;
}): JSX.Element {
  const end = span.toMs ?? scale.toMs;
  const [left, right] = [scale.at(span.fromMs), scale.at(end)];
  const kind = barKind(span);
  const words = [
    `${span.outcome ?? span.kind} ${duration(end - span.fromMs)}`,
    span.kind === 'running'
      ? `attempt ${span.attempt}${span.node === null ? '' : ` on ${span.node}`}`
      : null,
    span.note ?? (span.toMs === null ? task.waiting : null),
  ];
  const isWait = span.toMs === null && span.kind !== 'running';
  const reason = isWait && task.waiting !== null ? withoutFigures(waitWords(task.waiting)) : null;
  return (
    <span
      class={`bar k-${kind} ${span.toMs === null ? 'open' : ''} ${isOver(span) ? 'over' : ''}`}
      style={barPlace(left, right - left)}
      title={words.filter((each) => each !== null).join('\n')}
    >
      {reason !== null && <span class="bar-text">{reason}</span>}
    </span>
  );
}

interface GroupProps {
  readonly group: TaskGroup;
  readonly book: SpanBook;
  readonly scale: TimeScale;
  readonly isOpen: boolean;
  readonly toggle: () => void;
}

/** From the first moment of any of these to the last. */
function extentOf(
  tasks: readonly TaskShape[],
  book: SpanBook,
  endMs: number,
): { readonly first: number; readonly last: number } {
  let [first, last] = [endMs, 0];
  for (const task of tasks) {
    for (const { fromMs, toMs } of book.of(task)) {
      first = Math.min(first, fromMs);
      last = Math.max(last, toMs ?? endMs);
    }
  }
  return { first, last: Math.max(first, last) };
}

function GroupLine({ group, book, scale, isOpen, toggle }: GroupProps): JSX.Element {
  const { tasks, title } = group;
  const counts = tally(tasks);
  const { first, last } = extentOf(tasks, book, scale.toMs);
  const done = counts.succeeded / tasks.length;
  return (
    <div class="line row group" role="row">
      <span role="cell" class="line-name">
        <Glyph state={stateOfMany(tasks)} />
        <button type="button" class="cover" onClick={toggle} aria-expanded={isOpen}>
          {isOpen ? '▾' : '▸'} {title}
        </button>
        <span class="times">{tasks.length}</span>
      </span>
      <span role="cell" class="track">
        <span
          class={`bar many ${counts.running > 0 ? 'busy' : ''}`}
          style={{
            left: percent(scale.at(first)),
            width: percent(scale.at(last) - scale.at(first)),
          }}
          title={`${plural(counts.succeeded, 'task')} of ${tasks.length} succeeded, ${counts.failed} failed`}
        >
          <span class="done" style={{ width: percent(done) }} />
        </span>
      </span>
      <span role="cell" class="right num muted">
        {counts.succeeded}/{tasks.length}
      </span>
    </div>
  );
}
