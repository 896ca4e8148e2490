/** How the cluster feels: the figures that are worth an alert, with a word on each. */
import type { JSX } from 'preact';
import { request } from '../api/call.ts';
import { connection } from '../api/live.ts';
import { asOf, leader, me } from '../api/cluster-status.ts';
import { Ago, Loading, StaleNote } from '../parts/marks.tsx';
import { useResource } from '../parts/resource.ts';
import { bytes, count, duration } from '../words.ts';
import { type Figures, readFigures } from './figures.ts';

export function HealthView(): JSX.Element {
  const { state } = useResource(
    'metrics',
    async (signal) => readFigures(await (await request('metrics', { signal })).text()),
    { pollMs: 3_000 },
  );
  const { value, problem } = state.value;
  return (
    <section class="view">
      <div class="view-head">
        <h1>Health</h1>
        <span class="muted">as node {me.value?.node.id ?? '–'} sees it</span>
      </div>
      <StaleNote problem={problem} />
      {value === null ? problem === null && <Loading /> : <Board figures={value} />}
    </section>
  );
}

function Board({ figures }: { readonly figures: Figures }): JSX.Element {
  const at = (name: string, labels: Readonly<Record<string, string>> = {}): number | null =>
    figures.value(name, labels);
  const slots = at('millrace_slots') ?? 0;
  const held = at('millrace_tasks_held') ?? 0;
  const unfit = at('millrace_unfit_task_seconds');
  const backlog = at('millrace_backlog');
  const stale =
    (at('millrace_nodes', { status: 'stale' }) ?? 0) +
    (at('millrace_nodes', { status: 'dead' }) ?? 0);
  const leads = me.value?.node.leads === true;
  return (
    <>
      {!leads && (
        <p class="muted">
          Queues and commits are known to the leader only; this node shows the rest.
        </p>
      )}
      <div class="figures">
        <Figure
          title="Leader"
          value={leader.value?.nodeId ?? 'nobody'}
          note={
            leader.value === null
              ? 'Nothing can change until a node leads.'
              : `epoch ${leader.value.epoch}`
          }
          isBad={leader.value === null}
        />
        <Figure
          title="Last event"
          value={asOf.value === null ? '–' : `#${count(asOf.value.seq)}`}
          note={
            <>
              read <Ago at={asOf.value?.at ?? null} />, stream {connection.value.state}
            </>
          }
        />
        <Figure
          title="Longest unplaceable"
          value={unfit === null || Number.isNaN(unfit) ? 'none' : duration(unfit * 1_000)}
          note="a ready task that no node can run"
          isBad={(unfit ?? 0) > 60}
        />
        <Figure
          title="Waiting for the store"
          value={backlog === null ? '–' : count(backlog)}
          note="events not committed yet; it should fall back to 0"
          isBad={(backlog ?? 0) > 10_000}
        />
        <Figure
          title="Slots in use"
          value={`${count(held)} / ${count(slots)}`}
          note={
            slots === 0
              ? 'No worker is connected.'
              : `${Math.round((Math.min(held, slots) / slots) * 100)} % busy`
          }
          isBad={slots === 0}
        />
        <Figure
          title="Nodes"
          value={count(at('millrace_nodes', { status: 'healthy' }) ?? 0)}
          note={stale === 0 ? 'all are heard' : `${stale} not heard of`}
        />
        <Figure
          title="Memory of this node"
          value={bytes(at('process_resident_memory_bytes') ?? 0)}
          note={`heap ${bytes(at('nodejs_heap_used_bytes') ?? 0)}`}
        />
        <Figure
          title="Reloads in this term"
          value={count(at('millrace_leader_reloads') ?? 0)}
          note="each is a fault of the server worth a report"
          isBad={(at('millrace_leader_reloads') ?? 0) > 0}
        />
      </div>
      <Breakdown title="Live tasks" rows={figures.byLabel('millrace_tasks', 'state')} />
      <Breakdown title="Live queries" rows={figures.byLabel('millrace_queries', 'state')} />
      <h2>All figures</h2>
      <details>
        <summary>As Prometheus reads them</summary>
        <pre class="metrics">{figures.text}</pre>
      </details>
    </>
  );
}

interface FigureProps {
  readonly title: string;
  readonly value: string;
  readonly note: JSX.Element | string;
  readonly isBad?: boolean;
}

function Figure({ title, value, note, isBad = false }: FigureProps): JSX.Element {
  return (
    <div class="figure">
      <h2>{title}</h2>
      <p class={isBad ? 'big error' : 'big'}>{value}</p>
      <p class="muted">{note}</p>
    </div>
  );
}

function Breakdown({
  title,
  rows,
}: {
  readonly title: string;
  readonly rows: readonly (readonly [string, number])[];
}): JSX.Element | null {
  if (rows.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul class="breakdown">
        {rows.map(([label, value]) => (
          <li key={label} class={`s-${label}`}>
            <span class="num">{count(value)}</span> {label}
          </li>
        ))}
      </ul>
    </>
  );
}
