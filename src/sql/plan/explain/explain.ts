/**
 * Plans as text for people (EXPLAIN): what runs where, what is exchanged and, after a run (EXPLAIN ANALYZE), what it
 * took. At most 100 columns wide.
 */
import type { ExchangeInput, QueryPlan, ResultColumn, Stage } from '../physical/plan.ts';
import type { MeasuredSkew } from '../adapt/decide-groups.ts';
import { counted, bytesText, countText, durationText, share } from './figures.ts';
import { filterLines, type MeasuredFilter } from './filters.ts';
import { joinLines, plannedJoinLines, type MeasuredJoin } from './joins.ts';

/** What was measured of a stage; a subset of what the API returns. */
export interface StageMeasure {
  readonly id: number;
  readonly state: string;
  readonly tasks: {
    readonly total: number;
    readonly succeeded: number;
    readonly recomputed: number;
  };
  readonly rowsIn: number;
  readonly rowsOut: number;
  readonly bytesOut: number;
  readonly fetchedBytes: number;
  /** Of the inputs, what was fetched before its tasks began. */
  readonly earlyBytes?: number;
  readonly spilledBytes: number;
  readonly elapsedMs: number | null;
  readonly workMs: number;
  readonly partitionBytes: readonly number[];
  /** How the partitions that it reads were grouped into tasks; null if they were not. */
  readonly grouping?: {
    readonly partitions: number;
    readonly tasks: number;
    readonly bytes: number;
    readonly targetBytes: number;
    readonly slots: number;
    readonly skewed: readonly MeasuredSkew[];
  } | null;
  /** How its scans were filtered, and how many rows were left out, if they were counted. */
  readonly filters?: readonly MeasuredFilter[];
  readonly filteredRows?: number | null;
  /** Whether a side of its join was broadcast; null if that was not decided by sizes. */
  readonly join?: MeasuredJoin | null;
}

/** EXPLAIN and EXPLAIN ANALYZE as rows, with DuckDB's names. */
export const EXPLAIN_COLUMNS: readonly ResultColumn[] = [
  { name: 'explain_key', type: 'VARCHAR' },
  { name: 'explain_value', type: 'VARCHAR' },
];

/** What `explain_key` says, after DuckDB. */
export const EXPLAIN_KEYS = { plan: 'physical_plan', analysis: 'analyzed_plan' } as const;

const WIDTH = 100;

export function explainPlan(plan: QueryPlan): string {
  return text(plan, () => []);
}

/** `stages` may be in any order; a stage that is missing has not started. */
export function explainAnalyze(plan: QueryPlan, stages: readonly StageMeasure[]): string {
  const measures = new Map(stages.map((stage) => [stage.id, stage]));
  const workMs = stages.reduce((sum, stage) => sum + stage.workMs, 0);
  return text(plan, (stage) => {
    const measure = measures.get(stage.id);
    return measure === undefined
      ? ['not begun']
      : measured(stage, measure, workMs, plan.partitions > 1);
  });
}

function text(plan: QueryPlan, more: (stage: Stage) => readonly string[]): string {
  const lines = [...headOf(plan), ''];
  for (const stage of plan.stages) lines.push(...stageLines(plan, stage, more(stage)), '');
  return `${lines.join('\n').trimEnd()}\n`;
}

function headOf(plan: QueryPlan): readonly string[] {
  const { stages, partitions, single, duckdb } = plan;
  const tasks = stages.reduce((sum, stage) => sum + stage.tasks, 0);
  if (single !== null)
    return [`1 task on one node, DuckDB ${duckdb}`, ...wrapped(`not distributed: ${single}`, '')];
  return [
    `${counted(stages.length, 'stage')}, ${counted(tasks, 'task')}, ` +
      `data in ${counted(partitions, 'partition')}, DuckDB ${duckdb}`,
  ];
}

function stageLines(plan: QueryPlan, stage: Stage, more: readonly string[]): readonly string[] {
  const { rows, bytes } = stage.estimate;
  const estimates = [
    counted(stage.tasks, 'task'),
    ...(rows === null ? [] : [`~${counted(rows, 'row')}`]),
    ...(bytes === null ? [] : [`~${bytesText(bytes)}`]),
  ];
  const lines = [sides(`stage ${stage.id}  ${stage.title}`, estimates.join('  '))];
  for (const operator of stage.operators) lines.push(clipped(`│ ${operator}`));
  for (const { stage: id, name, keys } of plan.filters ?? [])
    if (id === stage.id)
      lines.push(clipped(`│ ~ ${name} filtered by the keys of stage ${keys.stage}`));
  for (const line of plannedJoinLines(plan, stage.id)) lines.push(clipped(`│ ~ ${line}`));
  if (stage.requires.length > 0)
    lines.push(...wrapped(`needs ${stage.requires.join(', ')}`, '│ ! '));
  if (stage.nonDeterministic !== null)
    lines.push(...wrapped(`non-deterministic: ${stage.nonDeterministic}`, '│ ! '));
  for (const line of more) lines.push(clipped(`│ = ${line}`));
  lines.push(...wrapped(destination(plan, stage), '└▶ '));
  return lines;
}

/** Where the rows of a stage go. */
function destination(plan: QueryPlan, stage: Stage): string {
  const readers = plan.stages.flatMap((reader) =>
    reader.fragment.inputs
      .filter((input) => input.stage === stage.id)
      .map((input) => readerText(reader, input)),
  );
  switch (stage.output.kind) {
    case 'result':
      return plan.ordered ? 'result, in order' : 'result';
    case 'hash':
      return `by hash into ${stage.output.partitions} partitions for ${readers.join(', ')}`;
    case 'range':
      return `by range into ${stage.output.partitions} partitions for ${readers.join(', ')}`;
    case 'whole':
      return readers.join(', ');
    default:
      return stage.output satisfies never;
  }
}

function readerText(reader: Stage, { mode }: ExchangeInput): string {
  switch (mode) {
    case 'partition':
      return `stage ${reader.id}`;
    case 'forward':
      return `forwarded to stage ${reader.id}`;
    case 'all':
      return reader.tasks === 1
        ? `gathered by stage ${reader.id}`
        : `broadcast to the ${reader.tasks} tasks of stage ${reader.id}`;
    default:
      return mode satisfies never;
  }
}

const BAR = 20;

function measured(
  stage: Stage,
  measure: StageMeasure,
  workMs: number,
  isDivided: boolean,
): readonly string[] {
  const part = share(measure.workMs, workMs);
  const bar = '█'.repeat(Math.round(part * BAR)).padEnd(BAR, '░');
  const elapsed = measure.elapsedMs === null ? '' : `, ${durationText(measure.elapsedMs)} elapsed`;
  const { rows } = stage.estimate;
  const guess = rows === null ? '' : ` (estimated ${countText(rows)})`;
  const lines = [
    `${bar} ${String(Math.round(part * 100)).padStart(3)} %  ${durationText(measure.workMs)} of work${elapsed}`,
    `${counted(measure.rowsIn, 'row')} in, ${countText(measure.rowsOut)} out${guess}, ` +
      `${bytesText(measure.bytesOut)} written, ${bytesText(measure.fetchedBytes)} fetched`,
  ];
  const { grouping = null, join = null, earlyBytes = 0 } = measure;
  if (earlyBytes > 0) lines.push(`${bytesText(earlyBytes)} of its inputs were fetched ahead`);
  if (join !== null) lines.push(...joinLines(join));
  if (grouping !== null) lines.push(groupingText(grouping), ...grouping.skewed.map(skewText));
  lines.push(...filterLines(measure));
  const notes = notesOn(measure, isDivided);
  return notes.length === 0 ? lines : [...lines, notes.join(', ')];
}

function groupingText(grouping: NonNullable<StageMeasure['grouping']>): string {
  const { partitions, tasks, bytes, targetBytes, slots } = grouping;
  return (
    `${counted(partitions, 'partition')} of ${bytesText(bytes)} read by ${counted(tasks, 'task')} ` +
    `(target ${bytesText(targetBytes)}, ${counted(slots, 'slot')})`
  );
}

/** Why a task of the stage took longer than the others, or what was done about it. */
function skewText({ partition, rows, bytes, times, tasks, stage }: MeasuredSkew): string {
  const size = `partition ${partition} has ${counted(rows, 'row')} in ${bytesText(bytes)}`;
  const factor = times === null ? '' : `, ${times} x the median`;
  if (tasks > 1) return `${size}${factor}: split by stage ${stage} among ${tasks} tasks`;
  const why = stage === null ? 'cannot be split' : 'splitting saves nothing';
  return `${size}${factor}: ${why}`;
}

/** Notes for somebody who looks for lost time. */
function notesOn(measure: StageMeasure, isDivided: boolean): readonly string[] {
  const { tasks, partitionBytes, spilledBytes, state } = measure;
  const notes: string[] = [];
  if (tasks.succeeded < tasks.total)
    notes.push(`${state}, ${tasks.succeeded} of ${counted(tasks.total, 'task')} done`);
  if (tasks.recomputed > 0)
    notes.push(`${counted(tasks.recomputed, 'task')} recomputed after a loss`);
  if (spilledBytes > 0) notes.push(`${bytesText(spilledBytes)} spilled to disk`);
  const skew = skewOf(partitionBytes);
  if (isDivided && skew >= 2) notes.push(`the largest partition is ${skew.toFixed(1)} x the mean`);
  return notes;
}

function skewOf(bytes: readonly number[]): number {
  const sum = bytes.reduce((total, each) => total + each, 0);
  return bytes.length < 2 || sum === 0 ? 1 : (Math.max(...bytes) * bytes.length) / sum;
}

/** One text at the left edge and one at the right edge. */
function sides(left: string, right: string): string {
  const room = WIDTH - right.length - 2;
  const clippedLeft = left.length <= room ? left : `${left.slice(0, room - 3)}...`;
  return `${clippedLeft.padEnd(WIDTH - right.length)}${right}`;
}

function clipped(line: string): string {
  return line.length <= WIDTH ? line : `${line.slice(0, WIDTH - 3)}...`;
}

/** Wraps at spaces; continuation lines are indented below the first. */
function wrapped(words: string, before: string): readonly string[] {
  const lines: string[] = [];
  let line = before;
  for (const word of words.split(' ')) {
    const isFirst = line.trim() === before.trim();
    if (!isFirst && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = `${before.startsWith('│') ? '│' : ' '}${' '.repeat(Math.max(0, before.length - 1))}${word}`;
    } else line = isFirst ? `${before}${word}` : `${line} ${word}`;
  }
  lines.push(line);
  return lines;
}
