/** Where a query is written, explained and run. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { post } from '../../api/call.ts';
import { may } from '../../api/cluster-status.ts';
import { type Problem, asProblem } from '../../api/problem.ts';
import { Glyph, ProblemNote } from '../../parts/marks.tsx';
import { go, link } from '../../route.ts';
import type { SqlEditor, createEditor } from '../../sql-editor.ts';
import { plural } from '../../words.ts';
import { draft, requestOf } from './draft.ts';
import { describeSoon, knownTables, loadCatalog } from './known-tables.ts';
import { type PlainPlan, stagesOfPlan } from './plan-shape.ts';
import { PlanText, PlanTree } from './plan-tree.tsx';

export function QueryEditor(): JSX.Element {
  const problem = useSignal<Problem | string | null>(null);
  const plan = useSignal<Explained | null>(null);
  const isBusy = useSignal(false);
  const act = async (run: (body: unknown) => Promise<void>): Promise<void> => {
    const request = requestOf(draft.value);
    if (!request.ok) return void (problem.value = request.why);
    [isBusy.value, problem.value, plan.value] = [true, null, null];
    try {
      await run(request.body);
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      isBusy.value = false;
    }
  };
  const run = (): Promise<void> =>
    act(async (body) => go(link(['queries', (await post<{ id: string }>('queries', body)).id])));
  const explain = (): Promise<void> =>
    act(async (body) => void (plan.value = await post<Explained>('queries/explain', body)));
  return (
    <div class="editor">
      <SqlBox onRun={() => void run()} />
      <div class="editor-more">
        <DraftField title="Tables" field="tables" example="orders = /data/orders/*.parquet" />
        <DraftField title="Parameters" field="params" example='["EU", 100]' />
      </div>
      <div class="actions">
        <button
          type="button"
          class="primary"
          disabled={isBusy.value || !may('submit')}
          onClick={() => void run()}
        >
          Run
        </button>
        <button
          type="button"
          disabled={isBusy.value || !may('submit')}
          onClick={() => void explain()}
        >
          Explain
        </button>
        <span class="muted">
          {may('submit') ? (
            <>
              <kbd>Ctrl Enter</kbd> runs it
            </>
          ) : (
            'Your role may look at queries, not run them.'
          )}
        </span>
      </div>
      {typeof problem.value === 'string' && <p class="error">{problem.value}</p>}
      {problem.value !== null && typeof problem.value !== 'string' && (
        <ProblemNote problem={problem.value} />
      )}
      {plan.value !== null && <Explanation explained={plan.value} />}
    </div>
  );
}

interface Explained {
  readonly plan: PlainPlan;
  readonly text: string;
}

function Explanation({
  explained: { plan, text },
}: {
  readonly explained: Explained;
}): JSX.Element {
  const { single = null, stages = [], partitions = 1 } = plan;
  return (
    <section aria-label="Plan">
      <p class="verdict">
        <Glyph state="ready" />
        <span class="wrap">
          <strong>{single === null ? 'Would run distributed.' : 'Would run whole.'}</strong>{' '}
          {single === null
            ? `${plural(stages.length, 'stage')}, ${plural(partitions, 'partition')}. Nothing has run yet.`
            : `${single.charAt(0).toUpperCase()}${single.slice(1)}. Nothing has run yet.`}
        </span>
      </p>
      {single === null && <PlanTree stages={stagesOfPlan(plan)} />}
      <PlanText text={text} />
    </section>
  );
}

function DraftField({
  title,
  field,
  example,
}: {
  readonly title: string;
  readonly field: 'tables' | 'params';
  readonly example: string;
}): JSX.Element {
  return (
    <label>
      {title}
      <textarea
        rows={2}
        spellcheck={false}
        placeholder={example}
        value={draft.value[field]}
        onInput={(event) => (draft.value = { ...draft.value, [field]: event.currentTarget.value })}
      />
    </label>
  );
}

/** A plain box until the editor is there, and where it cannot be loaded. */
function SqlBox({ onRun }: { readonly onRun: () => void }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<SqlEditor | null>(null);
  const runs = useRef(onRun);
  const isReady = useSignal(false);
  runs.current = onRun;
  useEffect(() => {
    let isGone = false;
    const address = new URL('sql-editor.js', import.meta.url).href;
    void (import(address) as Promise<{ createEditor: typeof createEditor }>).then(
      ({ createEditor: create }) => {
        if (isGone || host.current === null) return;
        const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
        editor.current = create(root, {
          text: draft.peek().sql,
          onText: (sql) => (draft.value = { ...draft.peek(), sql }),
          onRun: () => runs.current(),
        });
        editor.current.setTables(knownTables.peek());
        isReady.value = true;
      },
      // The plain box does as well.
      () => {},
    );
    return () => {
      isGone = true;
      editor.current?.destroy();
    };
  }, []);
  const { sql, tables } = draft.value;
  const isAllowed = may('submit');
  useEffect(() => void loadCatalog(draft.peek()), [isAllowed]);
  useEffect(() => describeSoon(draft.peek()), [sql, tables]);
  const { value: known } = knownTables;
  useEffect(() => editor.current?.setTables(known), [known]);
  return (
    <div class="sql-box">
      <div ref={host} class={isReady.value ? '' : 'offscreen'} />
      {!isReady.value && (
        <textarea
          rows={7}
          aria-label="SQL"
          spellcheck={false}
          value={draft.value.sql}
          onInput={(event) => (draft.value = { ...draft.value, sql: event.currentTarget.value })}
        />
      )}
    </div>
  );
}
