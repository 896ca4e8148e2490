/** A plan as a tree: the result at the top, under each stage those that it reads from. */
import type { JSX } from 'preact';
import { bytes, count, duration, plural } from '../../words.ts';
import { StateMark } from '../../parts/marks.tsx';
import { filterWords } from './filters.ts';
import { groupingWords } from './grouping.ts';
import { joinWords } from './joins.ts';
import { type PlanStage, estimateFault } from './plan-shape.ts';

export function PlanTree({ stages }: { readonly stages: readonly PlanStage[] }): JSX.Element {
  const root = stages.at(-1);
  const work = stages.reduce((sum, { measured }) => sum + (measured?.workMs ?? 0), 0);
  const seen = new Set<number>();
  return (
    <ul class="plan-tree">
      {root !== undefined && (
        <Branch stage={root} mode={null} stages={stages} work={work} seen={seen} />
      )}
    </ul>
  );
}

interface BranchProps {
  readonly stage: PlanStage;
  /** How its rows get to the stage above it. */
  readonly mode: string | null;
  readonly stages: readonly PlanStage[];
  readonly work: number;
  /** A stage that two others read is drawn under the first of them. */
  readonly seen: Set<number>;
}

function Branch({ stage, mode, stages, work, seen }: BranchProps): JSX.Element {
  const isRepeated = seen.has(stage.id);
  seen.add(stage.id);
  return (
    <li>
      <div class="plan-stage">
        <header>
          <span class="stage-no num">{stage.id}</span>
          <strong>{stage.title}</strong>
          {mode !== null && <span class="tag">{mode}</span>}
          {stage.measured !== null && <StateMark state={stage.measured.state} />}
        </header>
        {isRepeated ? <p class="muted">as above</p> : <Details stage={stage} work={work} />}
      </div>
      {!isRepeated && stage.inputs.length > 0 && (
        <ul>
          {stage.inputs.flatMap(({ stage: from, mode: how }) => {
            const below = stages.find(({ id }) => id === from);
            return below === undefined
              ? []
              : [
                  <Branch
                    key={from}
                    stage={below}
                    mode={how}
                    stages={stages}
                    work={work}
                    seen={seen}
                  />,
                ];
          })}
        </ul>
      )}
    </li>
  );
}

function Details({
  stage,
  work,
}: {
  readonly stage: PlanStage;
  readonly work: number;
}): JSX.Element {
  const { measured, estimatedRows } = stage;
  const share = measured === null || work === 0 ? 0 : measured.workMs / work;
  const adapted = groupingWords(measured?.grouping ?? null, bytes, count);
  const filtered = filterWords(measured, count);
  const joined = joinWords(measured?.join ?? null, bytes, count);
  const fault =
    measured?.state === 'succeeded' ? estimateFault(estimatedRows, measured.rowsOut) : null;
  return (
    <>
      {measured !== null && (
        <div class="share" title={`${Math.round(share * 100)} % of the work`}>
          <span style={{ width: `${share * 100}%` }} />
        </div>
      )}
      <p class="muted num">
        {figuresOf(stage).join(' · ')}
        {measured !== null && ` · ${Math.round(share * 100)} % of the work`}
      </p>
      {adapted !== null && <p>{adapted}</p>}
      {filtered !== null && <p>{filtered}</p>}
      {joined !== null && <p>{joined}</p>}
      {fault !== null && <p class="s-delayed">Rows: {fault}.</p>}
      <ol class="operators">
        {stage.operators.map(({ depth, name, detail }, at) => (
          <li key={at} style={{ paddingLeft: `${depth * 14}px` }}>
            <b>{name}</b>
            <span class="muted">{detail}</span>
          </li>
        ))}
      </ol>
      {stage.notes.map((note) => (
        <p key={note} class="s-delayed wrap">
          {note}
        </p>
      ))}
    </>
  );
}

function figuresOf({ tasks, measured, estimatedRows, output }: PlanStage): readonly string[] {
  const guess = estimatedRows === null ? [] : [`~${count(Math.round(estimatedRows))} rows`];
  if (measured === null) return [plural(tasks, 'task'), ...guess, output];
  return [
    plural(tasks, 'task'),
    `${count(measured.rowsIn)} → ${count(measured.rowsOut)} rows`,
    ...guess.map((words) => `estimated ${words.slice(1)}`),
    `${bytes(measured.bytesOut)} written`,
    ...(measured.fetchedBytes > 0 ? [`${bytes(measured.fetchedBytes)} fetched`] : []),
    ...(measured.spilledBytes > 0 ? [`${bytes(measured.spilledBytes)} spilled`] : []),
    `${duration(measured.workMs)} of work`,
  ];
}

export function PlanText({ text }: { readonly text: string }): JSX.Element {
  return (
    <details class="plan-text">
      <summary>As text</summary>
      <pre class="plan" tabIndex={0}>
        {text}
      </pre>
    </details>
  );
}
