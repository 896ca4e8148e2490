/** What the terminal shows of a job at one moment: a pure function of the job, the size and the time. */
import { isFinished, isTerminal, type TaskState } from '../../scheduler/core/index.ts';
import { counted, reasonWords, span } from '../wording.ts';
import type { JobPicture, TaskProgress } from './job-progress.ts';
import { line, type Piece, piece, type Style } from './styled-line.ts';
import { padded, textWidth } from './text-width.ts';

export interface FrameOptions {
  readonly columns: number;
  readonly rows: number;
  readonly hasColour: boolean;
  readonly isUnicode: boolean;
  /** The server's time. */
  readonly nowMs: number;
  /** Grows with each frame: turns the wheel of what runs. */
  readonly tick: number;
}

const STATES: readonly TaskState[] = [
  'failed',
  'running',
  'ready',
  'delayed',
  'blocked',
  'succeeded',
  'skipped',
  'cancelled',
];

export const STYLES: Readonly<Record<TaskState, Style>> = {
  failed: 'bad',
  running: 'busy',
  ready: 'wait',
  delayed: 'wait',
  blocked: 'dim',
  succeeded: 'good',
  skipped: 'dim',
  cancelled: 'dim',
};

const MARKS: Readonly<Record<TaskState, string>> = {
  failed: '✗',
  running: '▶',
  ready: '○',
  delayed: '◔',
  blocked: '·',
  succeeded: '✓',
  skipped: '↷',
  cancelled: '⊘',
};

const PLAIN_MARKS: Readonly<Record<TaskState, string>> = {
  failed: 'x',
  running: '>',
  ready: 'o',
  delayed: '~',
  blocked: '.',
  succeeded: '+',
  skipped: '-',
  cancelled: '-',
};

const WHEEL = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;
const PLAIN_WHEEL = ['|', '/', '-', '\\'] as const;
const BAR_COLUMNS = 16;
const ID_COLUMNS_MAX = 36;
const NODE_COLUMNS_MAX = 18;
/** Below this many columns the node is left out, ... */
const NARROW = 64;
/** ... and below this many the bars too. */
const VERY_NARROW = 44;

/** At most `rows - 1` lines, so that the cursor has a place of its own and nothing scrolls. */
export function frame(job: JobPicture, options: FrameOptions): string[] {
  const room = Math.max(1, options.rows - 1);
  const isWhole = job.tasks.length + 1 <= room;
  const body = isWhole
    ? taskLines(job.tasks, options)
    : [countLine(job, options), ...pickedLines(job.tasks, room - 2, options)];
  return [headLine(job, options), ...body].slice(0, room);
}

function headLine(job: JobPicture, options: FrameOptions): string {
  const { tasks, state, name } = job;
  const done = tasks.filter(({ state }) => state === 'succeeded').length;
  const style = state === 'succeeded' ? 'good' : state === 'failed' ? 'bad' : 'busy';
  const elapsed = span((job.finishedMs ?? options.nowMs) - job.createdMs);
  const bar = isFinished(state) ? '' : barOf(overall(tasks), options);
  return draw(
    [
      piece(name, 'bold'),
      piece(state, state === 'cancelled' ? 'dim' : style),
      piece(elapsed),
      piece(bar, 'busy'),
      piece(`${done} of ${counted(tasks.length, 'task')} done`),
    ],
    options,
  );
}

/** The progress of the job: ended tasks count fully, running ones by their own progress. */
function overall(tasks: readonly TaskProgress[]): number {
  if (tasks.length === 0) return 0;
  const ended = (task: TaskProgress): number =>
    isTerminal(task.state) ? 1 : task.state === 'running' ? task.progress : 0;
  return tasks.reduce((sum, task) => sum + ended(task), 0) / tasks.length;
}

function countLine({ tasks }: JobPicture, options: FrameOptions): string {
  const counts = new Map<TaskState, number>();
  for (const { state } of tasks) counts.set(state, (counts.get(state) ?? 0) + 1);
  const pieces = STATES.flatMap((state) => {
    const count = counts.get(state);
    const text = `${markOf(state, options)} ${count} ${state}`;
    return count === undefined ? [] : [piece(text, STYLES[state])];
  });
  return draw(pieces, options);
}

/** Failures first, then running tasks, then waiting ones, as many as fit. */
function pickedLines(
  tasks: readonly TaskProgress[],
  room: number,
  options: FrameOptions,
): readonly string[] {
  if (room <= 0) return [];
  const of = (state: TaskState): readonly TaskProgress[] =>
    tasks.filter((task) => task.state === state);
  const failed = of('failed');
  const running = of('running');
  const kept = Math.max(Math.ceil(room / 2), room - 1 - running.length);
  const waiting = [...of('delayed'), ...of('ready')];
  const chosen = [...failed.slice(0, kept), ...running, ...waiting];
  const hidden = tasks.length - Math.min(chosen.length, room - 1);
  const lines = taskLines(chosen.slice(0, room - 1), options);
  return [...lines, draw([piece(`... and ${counted(hidden, 'more task')}`, 'dim')], options)];
}

function taskLines(tasks: readonly TaskProgress[], options: FrameOptions): string[] {
  const indented = (task: TaskProgress): string => `${'  '.repeat(task.depth)}${task.id}`;
  const ids = Math.min(ID_COLUMNS_MAX, widest(tasks.map(indented)));
  const times = widest(tasks.map((task) => timeOf(task, options)));
  const nodes = Math.min(NODE_COLUMNS_MAX, widest(tasks.map(({ node }) => node ?? '')));
  return tasks.map((task) => {
    const { state } = task;
    const isNarrow = options.columns < NARROW;
    return draw(
      [
        piece(`  ${markOf(state, options)}`, STYLES[state]),
        piece(padded(indented(task), ids), state === 'blocked' ? 'dim' : 'plain'),
        piece(times === 0 ? '' : timeOf(task, options).padStart(times)),
        piece(isNarrow || nodes === 0 ? '' : padded(task.node ?? '', nodes), 'dim'),
        ...remarks(task, options),
      ],
      options,
    );
  });
}

function remarks(task: TaskProgress, options: FrameOptions): readonly Piece[] {
  const { state, progress, attempt, note, error, waiting } = task;
  const tried = attempt > 1 ? [piece(`attempt ${attempt}`, 'wait')] : [];
  if (state === 'failed') return [...tried, piece(error ?? '', 'bad')];
  if (state === 'running') {
    const isKnown = progress > 0 && options.columns >= VERY_NARROW;
    const bar = isKnown
      ? `${barOf(progress, options)} ${String(Math.round(progress * 100)).padStart(3)} %`
      : '';
    return [piece(bar, 'busy'), ...tried, piece(note ?? '', 'dim')];
  }
  if (isTerminal(state)) return tried;
  const why =
    (waiting === null ? null : reasonWords(waiting)) ?? (state === 'delayed' ? error : null) ?? '';
  return [...tried, piece(why, state === 'blocked' ? 'dim' : 'wait')];
}

function timeOf({ startedMs, finishedMs, state }: TaskProgress, { nowMs }: FrameOptions): string {
  if (startedMs === null) return '';
  if (finishedMs !== null) return span(finishedMs - startedMs);
  return state === 'running' ? span(nowMs - startedMs) : '';
}

export function markOf(state: TaskState, { isUnicode, tick }: FrameOptions): string {
  if (state === 'running') {
    const wheel: readonly string[] = isUnicode ? WHEEL : PLAIN_WHEEL;
    return wheel[tick % wheel.length] ?? MARKS.running;
  }
  return (isUnicode ? MARKS : PLAIN_MARKS)[state];
}

export function barOf(fraction: number, { isUnicode }: Pick<FrameOptions, 'isUnicode'>): string {
  const full = Math.round(Math.min(1, Math.max(0, fraction)) * BAR_COLUMNS);
  const [done, left] = isUnicode ? ['█', '░'] : ['#', '-'];
  return done.repeat(full) + left.repeat(BAR_COLUMNS - full);
}

export function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, textWidth(text)), 0);
}

export function draw(pieces: readonly Piece[], options: FrameOptions): string {
  const { columns, hasColour, isUnicode } = options;
  // The last column stays free: some terminals wrap as soon as it is written.
  return line(pieces, Math.max(1, columns - 1), hasColour, isUnicode ? '…' : '~');
}
