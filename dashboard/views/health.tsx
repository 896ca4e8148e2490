/** The state of the cluster: the figures that are worth an alert, each with an explanation. */
import type { JSX } from 'preact';
import { request } from '../api/call.ts';
import { connection } from '../api/live.ts';
import { asOf, leader, me } from '../api/cluster-status.ts';
import { Ago, Glyph, Loading, StaleNote } from '../parts/marks.tsx';
import { useResource } from '../parts/resource.ts';
import { bytes, count, duration, plural } from '../words.ts';
import { type Figures, readFigures } from './figures.ts';
import { alertsOf } from './health-alerts.ts';
import { Queues } from './queues.tsx';

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
  return (
    <>
      {me.value?.node.leads !== true && (
        <p class="muted">
          Queues and commits are known to the leader only; this node shows the rest.
        </p>
      )}
      <Alerts figures={figures} />
      <div class="figures">
        {[...clusterFigures(), ...queueFigures(figures), ...nodeFigures(figures)].map((each) => (
          <Figure key={each.title} {...each} />
        ))}
      </div>
      {me.value?.node.leads === true && <Queues />}
      <Breakdown title="Live jobs" rows={figures.byLabel('millrace_jobs', 'state')} />
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

const alertWords = (value: number, unit: 'seconds' | 'count'): string =>
  unit === 'count' ? count(value) : duration(value * 1_000);

/** What is worth an alert, and whether it would be one now. */
function Alerts({ figures }: { readonly figures: Figures }): JSX.Element {
  const alerts = alertsOf(figures, leader.value !== null, alertWords);
  const firing = alerts.filter(({ state }) => state === 'firing');
  const known = alerts.filter(({ state }) => state !== 'unknown').length;
  return (
    <>
      <p class={`verdict v-${firing.length === 0 ? 'succeeded' : 'failed'}`}>
        <Glyph state={firing.length === 0 ? 'succeeded' : 'failed'} />
        <span>
          <strong>
            {firing.length === 0
              ? 'All is well.'
              : `${firing[0]?.says ?? ''}: ${firing[0]?.seen ?? ''}.`}
          </strong>{' '}
          {firing.length === 0
            ? `None of the ${known} alerts that this node can judge would fire.`
            : `${firing[0]?.todo ?? ''}${firing.length > 1 ? ` ${plural(firing.length - 1, 'more alert')} below.` : ''}`}
        </span>
      </p>
      <details class="alerts" open={firing.length > 0}>
        <summary>{plural(alerts.length, 'alert')} worth having</summary>
        <div class="table-box">
          <table>
            <thead>
              <tr>
                <th scope="col">Alert</th>
                <th scope="col">Now</th>
                <th scope="col">Limit</th>
                <th scope="col">What to do</th>
              </tr>
            </thead>
            <tbody>
              {alerts.map(({ name, title, state, seen, limit, todo }) => (
                <tr key={name}>
                  <td>
                    <span class={`state s-${ALERT_STATES[state]}`} title={name}>
                      <Glyph state={ALERT_STATES[state]} />
                      <span class="alert-title">{title}</span>
                    </span>
                  </td>
                  <td class="num">{seen}</td>
                  <td class="num muted">{limit}</td>
                  <td class="muted">{todo}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </>
  );
}

const ALERT_STATES = { ok: 'succeeded', firing: 'failed', unknown: 'queued' } as const;

function clusterFigures(): FigureProps[] {
  const leads = leader.value;
  const stream = (
    <>
      read <Ago at={asOf.value?.at ?? null} />, stream {connection.value.state}
    </>
  );
  return [
    {
      title: 'Leader',
      value: leads?.nodeId ?? 'nobody',
      note: leads === null ? 'Nothing can change until a node leads.' : `epoch ${leads.epoch}`,
      isBad: leads === null,
    },
    {
      title: 'Last event',
      value: asOf.value === null ? '–' : `#${count(asOf.value.seq)}`,
      note: stream,
    },
  ];
}

/** Of the oldest of its kind; 0 and NaN mean that there is none. */
const age = (seconds: number): string => (seconds > 0 ? duration(seconds * 1_000) : 'none');

function queueFigures(figures: Figures): FigureProps[] {
  const unfit = figures.value('millrace_unfit_task_seconds');
  const oldest = figures.value('millrace_oldest_ready_seconds');
  const [waited, commit] = ['millrace_task_queue_seconds', 'millrace_commit_seconds'].map((name) =>
    figures.quantiles(name),
  );
  const half = figures.quantile('millrace_commit_seconds', 0.5);
  const lag = figures.value('millrace_read_lag_seconds');
  const backlog = figures.value('millrace_backlog');
  const journal = figures.value('millrace_journal_commits');
  const slots = figures.value('millrace_slots') ?? 0;
  const held = figures.value('millrace_tasks_held') ?? 0;
  const busy = Math.round((Math.min(held, slots) / slots) * 100);
  return [
    {
      title: 'Oldest ready task',
      value: oldest === null ? '–' : age(oldest),
      note: `time in the queue: ${waited ?? 'not known here'}`,
      isBad: (oldest ?? 0) > 600,
    },
    {
      title: 'Commits',
      value: half === null ? '–' : `≤ ${duration(half * 1_000)}`,
      note: `how long the store takes: ${commit ?? 'not known here'}`,
    },
    {
      title: 'Age of reads',
      value: lag === null ? '–' : duration(lag * 1_000),
      note: 'how far this node is behind the store',
      isBad: (lag ?? 0) > 60,
    },
    {
      title: 'Longest unplaceable',
      value: age(unfit ?? 0),
      note: 'a ready task that no node can run',
      isBad: (unfit ?? 0) > 300,
    },
    {
      title: 'Waiting for the store',
      value: backlog === null ? '–' : count(backlog),
      note: 'events not committed yet; it should fall back to 0',
      isBad: (backlog ?? 0) > 10_000,
    },
    {
      title: 'Journal',
      value: journal === null ? '–' : plural(journal, 'commit'),
      note: 'committed, and not in the tables yet; it should fall back to 0',
      isBad: (journal ?? 0) > 10_000,
    },
    {
      title: 'Slots in use',
      value: `${count(held)} / ${count(slots)}`,
      note: slots === 0 ? 'No worker is connected.' : `${busy} % busy`,
      isBad: slots === 0,
    },
  ];
}

function nodeFigures(figures: Figures): FigureProps[] {
  const nodes = (status: string): number => figures.value('millrace_nodes', { status }) ?? 0;
  const silent = nodes('stale') + nodes('dead');
  const reloads = figures.value('millrace_leader_reloads') ?? 0;
  return [
    {
      title: 'Nodes',
      value: count(nodes('healthy')),
      note: silent === 0 ? 'all are heard' : `${silent} not heard of`,
    },
    {
      title: 'Memory of this node',
      value: bytes(figures.value('process_resident_memory_bytes') ?? 0),
      note: `heap ${bytes(figures.value('nodejs_heap_used_bytes') ?? 0)}`,
    },
    {
      title: 'Reloads in this term',
      value: count(reloads),
      note: 'each is a fault of the server worth a report',
      isBad: reloads > 0,
    },
  ];
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
          <li key={label} class={value === 0 ? 'muted' : `s-${label}`}>
            <span class="num">{count(value)}</span> {label}
          </li>
        ))}
      </ul>
    </>
  );
}
