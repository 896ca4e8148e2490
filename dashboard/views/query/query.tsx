/** One query: what it is, how its stages went, and its rows. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { JobShape, QueryAnalysis, QueryShape } from '../../../src/scheduler/contract/index.ts';
import { call, post } from '../../api/call.ts';
import { may } from '../../api/cluster-status.ts';
import { Confirm } from '../../parts/dialog.tsx';
import {
  Ago,
  Empty,
  Glyph,
  Id,
  Loading,
  NotLoaded,
  ProblemNote,
  RunTime,
  StateMark,
  StaleNote,
} from '../../parts/marks.tsx';
import { useResource } from '../../parts/resource.ts';
import { Tabs } from '../../parts/tabs.tsx';
import { go, link, route } from '../../route.ts';
import { bytes, count, duration, now, plural } from '../../words.ts';
import { draft } from './draft.ts';
import { ResultGrid } from './grid.tsx';
import { stagesOfQuery } from './plan-shape.ts';
import { PlanText, PlanTree } from './plan-tree.tsx';
import { skewOf } from './skew.ts';
import { Stages } from './stages.tsx';

export function QueryView({ id }: { readonly id: string }): JSX.Element {
  const path = `queries/${encodeURIComponent(id)}`;
  const refreshOn = (event: { readonly job: string | null }): boolean => event.job === id;
  const { state } = useResource(path, (signal) => call<QueryShape>(path, { signal }), {
    refreshOn,
    everyMs: 500,
  });
  const job = useResource(
    `job of ${id}`,
    (signal) => call<JobShape>(`jobs/${encodeURIComponent(id)}`, { signal }),
    { refreshOn, everyMs: 1_000 },
  );
  const { value: query, problem } = state.value;
  if (query === null) {
    const missing = (
      <Empty title="There is no such query">
        <a href="#/queries">Back to the queries</a>
      </Empty>
    );
    return <NotLoaded problem={problem} missing={missing} />;
  }
  return (
    <section class="view fill">
      <StaleNote problem={problem} />
      <QueryHead query={query} />
      <QueryBody query={query} job={job.state.value.value} />
    </section>
  );
}

function QueryHead({ query }: { readonly query: QueryShape }): JSX.Element {
  return (
    <>
      <p class="crumb">
        <a href="#/queries">Queries</a>
      </p>
      <div class="view-head">
        <h1>Query</h1>
        <QueryActions query={query} />
      </div>
      <p class="facts">
        <StateMark state={query.state} />
        <Id id={query.id} />
        <span>
          submitted <Ago at={query.submittedAt} />
        </span>
        <RunTime of={query} />
        <a href={link(['jobs', query.id])}>its tasks</a>
      </p>
      <Verdict query={query} />
      <pre class="sql" tabIndex={0} aria-label="SQL">
        {query.sql}
      </pre>
    </>
  );
}

function Verdict({ query }: { readonly query: QueryShape }): JSX.Element {
  const [head, text] = sentenceOf(query);
  return (
    <p class={`verdict v-${query.state}`}>
      <Glyph state={query.state} />
      <span class="wrap">
        <strong>{head}</strong> {text}
      </span>
    </p>
  );
}

function sentenceOf(query: QueryShape): readonly [string, string] {
  const { state, stages, waiting, single, error } = query;
  const spread =
    single === null
      ? `${plural(stages.length, 'stage')}, ${plural(query.partitions, 'partition')}.`
      : `Runs whole: ${single}.`;
  if (waiting !== null)
    return [
      'Waiting:',
      `${waiting.why}. ${waiting.position > 0 ? `${waiting.position} before it.` : ''}`,
    ];
  switch (state) {
    case 'queued':
      return ['Queued.', spread];
    case 'running': {
      const at = stages.filter((stage) => stage.state === 'running').map(({ title }) => title);
      return [
        `Running for ${duration(now.value - Date.parse(query.startedAt ?? query.submittedAt))}:`,
        `${at.join(', ') || 'between stages'}. ${spread}`,
      ];
    }
    case 'failed':
      return ['Failed.', error?.message ?? ''];
    case 'cancelled':
      return ['Cancelled.', error?.message ?? ''];
    case 'succeeded':
      return summaryOf(query, spread);
  }
}

function summaryOf(
  { stages, startedAt, finishedAt }: QueryShape,
  spread: string,
): readonly [string, string] {
  const took = Date.parse(finishedAt ?? '') - Date.parse(startedAt ?? '');
  const read = stages
    .filter(({ inputs }) => inputs.length === 0)
    .reduce((sum, { rowsIn }) => sum + rowsIn, 0);
  const moved = stages.slice(0, -1).reduce((sum, { bytesOut }) => sum + bytesOut, 0);
  const work = stages.reduce((sum, { workMs }) => sum + workMs, 0);
  const slowest = stages.toSorted((a, b) => b.workMs - a.workMs)[0];
  const part = slowest === undefined || work === 0 ? 0 : slowest.workMs / work;
  const skewed = stages.find(
    ({ partitionBytes }) => skewOf(partitionBytes, 'bytes')?.isSkewed === true,
  );
  const words = [
    spread,
    ...(stages.length > 1 ? [`${count(read)} rows read, ${bytes(moved)} between stages.`] : []),
    ...(stages.length > 1 && part > 0.5
      ? [
          `${Math.round(part * 100)} % of the work is stage ${slowest?.id ?? 0}, ${slowest?.title ?? ''}.`,
        ]
      : []),
    ...(skewed === undefined ? [] : [`Stage ${skewed.id} is skewed.`]),
  ];
  return [`Succeeded in ${duration(took)}.`, words.join(' ')];
}

function QueryActions({ query }: { readonly query: QueryShape }): JSX.Element {
  const asks = useSignal(false);
  const edit = (): void => {
    draft.value = { ...draft.value, sql: query.sql };
    go('#/queries');
  };
  return (
    <div class="actions">
      <button type="button" onClick={edit}>
        Edit
      </button>
      {may('submit') && query.finishedAt === null && (
        <button type="button" onClick={() => (asks.value = true)}>
          Cancel
        </button>
      )}
      {asks.value && (
        <Confirm
          title="Cancel the query"
          action="Cancel the query"
          isDanger
          onClose={() => (asks.value = false)}
          run={async () => {
            await post(`queries/${encodeURIComponent(query.id)}/cancel`, {});
            return 'The query is being cancelled.';
          }}
        >
          <p>Its running fragments are stopped, and what its stages have written is removed.</p>
        </Confirm>
      )}
    </div>
  );
}

function QueryBody({
  query,
  job,
}: {
  readonly query: QueryShape;
  readonly job: JobShape | null;
}): JSX.Element {
  const hasRows = query.state === 'succeeded';
  const tabs = [
    ...(hasRows ? [{ id: 'result', title: 'Result' }] : []),
    { id: 'stages', title: 'Stages', count: count(query.stages.length) },
    { id: 'plan', title: 'Plan' },
  ];
  const tab = route.value.query.get('tab') ?? tabs[0]?.id ?? 'stages';
  return (
    <>
      <Tabs label="Parts of the query" selected={tab} tabs={tabs} />
      {tab === 'result' && hasRows && <ResultGrid query={query} />}
      {tab === 'stages' && <Stages query={query} job={job} />}
      {tab === 'plan' && <Plan query={query} />}
    </>
  );
}

/** The plan with what each stage took; as text it is the same that `millrace sql --analyze` prints. */
function Plan({ query }: { readonly query: QueryShape }): JSX.Element {
  const path = `queries/${encodeURIComponent(query.id)}/explain`;
  const { state } = useResource(`${path} ${query.state}`, (signal) =>
    call<QueryAnalysis>(path, { signal }),
  );
  const { value, problem } = state.value;
  if (value === null) return problem === null ? <Loading /> : <ProblemNote problem={problem} />;
  return (
    <div class="scroll">
      <PlanTree stages={stagesOfQuery(query, value.stages)} />
      <PlanText text={value.text} />
    </div>
  );
}
