/** The stages of a query over time, with what each read and wrote. */
import type { JSX } from 'preact';
import type { JobShape, QueryShape, StageShape } from '../../../src/scheduler/contract/index.ts';
import { barPlace } from '../../parts/bar-place.ts';
import { StateMark } from '../../parts/marks.tsx';
import { bytes, count, duration, now, plural } from '../../words.ts';
import { filterWords } from './filters.ts';
import { groupingWords } from './grouping.ts';
import { joinWords } from './joins.ts';
import { type Producer, producersOf, rowsPerPartition } from './shuffle.ts';
import { ShuffleMatrix } from './shuffle-matrix.tsx';
import { skewOf } from './skew.ts';

interface Extent {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Tasks of stage 2 are called `s2.0`, `s2.1` and so on. */
function extentOf(stage: StageShape, job: JobShape | null): Extent | null {
  const own = (job?.tasks ?? []).filter(
    ({ id, startedAt }) => id.startsWith(`s${stage.id}.`) && startedAt !== null,
  );
  if (own.length === 0) return null;
  const fromMs = Math.min(...own.map(({ startedAt }) => Date.parse(startedAt ?? '')));
  const toMs = Math.max(
    ...own.map(({ finishedAt }) => (finishedAt === null ? now.value : Date.parse(finishedAt))),
  );
  return { fromMs, toMs };
}

export function Stages({
  query,
  job,
}: {
  readonly query: QueryShape;
  readonly job: JobShape | null;
}): JSX.Element {
  const start = Date.parse(query.startedAt ?? query.submittedAt);
  const end = query.finishedAt === null ? now.value : Date.parse(query.finishedAt);
  const whole = Math.max(1, end - start);
  return (
    <div class="stages">
      {query.stages.map((stage) => (
        <Stage
          key={stage.id}
          stage={stage}
          producers={producersOf(stage.id, job)}
          extent={extentOf(stage, job)}
          start={start}
          whole={whole}
        />
      ))}
    </div>
  );
}

interface StageProps {
  readonly stage: StageShape;
  readonly producers: readonly Producer[];
  readonly extent: Extent | null;
  readonly start: number;
  readonly whole: number;
}

function Stage({ stage, producers, extent, start, whole }: StageProps): JSX.Element {
  const { tasks } = stage;
  // A finished stage whose tasks say nothing of rows is judged by bytes.
  const rows = stage.state === 'succeeded' ? rowsPerPartition(producers) : [];
  const byRows = skewOf(rows, 'rows');
  const skew = byRows ?? skewOf(stage.partitionBytes, 'bytes');
  const facts = [
    `${count(stage.rowsIn)} rows in`,
    `${count(stage.rowsOut)} out${stage.estimate.rows === null ? '' : ` (estimated ${count(Math.round(stage.estimate.rows))})`}`,
    `${bytes(stage.bytesOut)} written`,
    `${duration(stage.workMs)} of work`,
    ...(stage.fetchedBytes > 0 ? [`${bytes(stage.fetchedBytes)} fetched`] : []),
    ...(stage.spilledBytes > 0 ? [`${bytes(stage.spilledBytes)} spilled`] : []),
    ...(tasks.recomputed > 0 ? [`${tasks.recomputed} recomputed`] : []),
  ];
  const adapted = groupingWords(stage.grouping ?? null, bytes, count);
  const filtered = filterWords(stage, count);
  const joined = joinWords(stage.join ?? null, bytes, count);
  const left = extent === null ? 0 : Math.max(0, (extent.fromMs - start) / whole);
  const width = extent === null ? 0 : Math.min(1 - left, (extent.toMs - extent.fromMs) / whole);
  return (
    <article class="stage">
      <header>
        <span class="stage-no num">{stage.id}</span>
        <strong class="wrap">{stage.title}</strong>
        <StateMark state={stage.state} />
        <span class="muted num">
          {tasks.succeeded}/{tasks.total} tasks
        </span>
        <span class="muted">{arrows(stage)}</span>
      </header>
      <div class="track">
        {extent !== null && (
          <span
            class={`bar k-${stage.state === 'failed' ? 'failed' : 'running'} ${stage.state === 'succeeded' ? 'over' : ''}`}
            style={barPlace(left, width)}
            title={duration(extent.toMs - extent.fromMs)}
          />
        )}
      </div>
      <p class="muted num">{facts.join(' · ')}</p>
      {adapted !== null && <p class="muted">{adapted}</p>}
      {filtered !== null && <p class="muted">{filtered}</p>}
      {joined !== null && <p class="muted">{joined}</p>}
      {skew !== null && (
        <div class="skew">
          <Partitions
            sizes={byRows === null ? stage.partitionBytes : rows}
            words={byRows === null ? bytes : (size) => plural(size, 'row')}
            isSkewed={skew.isSkewed}
          />
          <span class={skew.isSkewed ? 's-delayed' : 'muted'}>{skew.words}</span>
        </div>
      )}
      <ShuffleMatrix stage={stage.id} producers={producers} />
    </article>
  );
}

const arrows = ({ inputs, output }: StageShape): string =>
  `${inputs.length === 0 ? '' : `from ${inputs.map(({ stage, mode }) => `${stage} (${mode})`).join(', ')} `}→ ${output}`;

const BARS_MAX = 64;

/** A bar for each partition. */
function Partitions({
  sizes,
  words,
  isSkewed,
}: {
  readonly sizes: readonly number[];
  readonly words: (size: number) => string;
  readonly isSkewed: boolean;
}): JSX.Element {
  const max = Math.max(1, ...sizes);
  return (
    <span class={`partitions ${isSkewed ? 'uneven' : ''}`} aria-hidden="true">
      {sizes.slice(0, BARS_MAX).map((size, at) => (
        <span
          key={at}
          style={{ height: `${Math.max(6, (size / max) * 100)}%` }}
          title={`partition ${at}: ${words(size)}`}
        />
      ))}
    </span>
  );
}
