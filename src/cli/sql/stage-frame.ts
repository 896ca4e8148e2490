/** What the terminal shows of a query at one moment: a line for each stage. */
import { isFinished, type TaskState } from '../../scheduler/core/index.ts';
import type { QueryShape, StageShape } from '../../scheduler/contract/index.ts';
import { barOf, draw, type FrameOptions, markOf, STYLES, widest } from '../view/frame.ts';
import { piece, type Piece } from '../view/styled-line.ts';
import { padded } from '../view/text-width.ts';
import { bytesWords, counted, countWords, span } from '../wording.ts';

const TITLE_COLUMNS_MAX = 44;
/** Below this many columns bytes are left out, ... */
const NARROW = 84;
/** ... and below this many the bars too. */
const VERY_NARROW = 56;

/** As the view of tasks shows them. */
const MARKED: Readonly<Record<StageShape['state'], TaskState>> = {
  waiting: 'blocked',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
};

/** At most `rows - 1` lines: of many stages those that are over are left out first. */
export function stageFrame(query: QueryShape, options: FrameOptions): string[] {
  const room = Math.max(1, options.rows - 2);
  const { stages } = query;
  const surplus = Math.max(0, stages.length - room);
  const over = stages.filter(({ state }) => state === 'succeeded').slice(0, surplus);
  const shown = stages.filter((stage) => !over.includes(stage)).slice(0, room);
  return [headLine(query, options), ...stageLines(shown, options)];
}

function headLine(query: QueryShape, options: FrameOptions): string {
  const { state, stages, waiting, submittedAt, finishedAt } = query;
  const total = stages.reduce((sum, { tasks }) => sum + tasks.total, 0);
  const done = stages.reduce((sum, { tasks }) => sum + tasks.succeeded, 0);
  const endMs = finishedAt === null ? options.nowMs : Date.parse(finishedAt);
  const style = state === 'succeeded' ? 'good' : state === 'failed' ? 'bad' : 'busy';
  const wait = waiting === null ? [] : [piece(waiting.why, 'wait')];
  return draw(
    [
      piece('query', 'bold'),
      piece(state, state === 'cancelled' ? 'dim' : style),
      piece(span(Math.max(0, endMs - Date.parse(submittedAt)))),
      piece(isFinished(state) || total === 0 ? '' : barOf(done / total, options), 'busy'),
      piece(`${done} of ${counted(total, 'task')} done`),
      ...wait,
    ],
    options,
  );
}

function stageLines(stages: readonly StageShape[], options: FrameOptions): string[] {
  const { columns } = options;
  const titles = Math.min(TITLE_COLUMNS_MAX, widest(stages.map(titleOf)));
  const counts = widest(stages.map(countOf));
  const rows = widest(stages.map(rowsOf));
  return stages.map((stage) => {
    const { state, tasks } = stage;
    const marked = MARKED[state];
    const share = tasks.total === 0 ? 0 : tasks.succeeded / tasks.total;
    return draw(
      [
        piece(`  ${markOf(marked, options)}`, STYLES[marked]),
        piece(padded(titleOf(stage), titles), state === 'waiting' ? 'dim' : 'plain'),
        piece(columns < VERY_NARROW ? '' : barOf(share, options), STYLES[marked]),
        piece(countOf(stage).padStart(counts)),
        piece(rows === 0 ? '' : rowsOf(stage).padStart(rows)),
        piece(columns < NARROW || stage.bytesOut === 0 ? '' : bytesWords(stage.bytesOut), 'dim'),
        ...remarks(stage),
      ],
      options,
    );
  });
}

function remarks({ elapsedMs, tasks, spilledBytes, state }: StageShape): readonly Piece[] {
  const notes = [
    tasks.failed > 0 && state !== 'failed' ? `${tasks.failed} failed` : '',
    tasks.recomputed > 0 ? `${tasks.recomputed} recomputed` : '',
    spilledBytes > 0 ? `${bytesWords(spilledBytes)} spilled` : '',
  ].filter((text) => text !== '');
  return [
    piece(elapsedMs === null ? '' : span(elapsedMs), 'dim'),
    ...notes.map((text) => piece(text, 'wait')),
  ];
}

const titleOf = ({ id, title }: StageShape): string => `${id} ${title}`;
const countOf = ({ tasks }: StageShape): string => `${tasks.succeeded}/${tasks.total}`;
const rowsOf = ({ rowsOut, state }: StageShape): string =>
  state === 'waiting' ? '' : `${countWords(rowsOut)} rows`;
