/** Nodes: what each can do, what it holds, and whether it may take more. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { NodeShape } from '../../src/scheduler/contract/index.ts';
import type { Json } from '../../src/scheduler/core/index.ts';
import { call, post } from '../api/call.ts';
import { leader, may } from '../api/cluster-status.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Ago, Empty, NotLoaded, StaleNote } from '../parts/marks.tsx';
import { useResource } from '../parts/resource.ts';
import { bytes, count, duration, now, plural } from '../words.ts';

interface Answer {
  readonly nodes: readonly NodeShape[];
}

export function NodesView(): JSX.Element {
  const { state, refresh } = useResource('nodes', (signal) => call<Answer>('nodes', { signal }), {
    refreshOn: ({ kind }) =>
      kind.startsWith('node.') || kind === 'assigned' || kind === 'completed',
    everyMs: 1_000,
    pollMs: 5_000,
  });
  const showsGone = useSignal(false);
  const { value, problem } = state.value;
  if (value === null) return <NotLoaded problem={problem} />;
  const here = value.nodes.filter(({ status }) => status === 'healthy');
  const gone = value.nodes.filter(({ status }) => status !== 'healthy');
  const slots = here.reduce((sum, node) => sum + node.slots, 0);
  const running = here.reduce((sum, node) => sum + node.running, 0);
  return (
    <section class="view">
      <div class="view-head">
        <h1>Nodes</h1>
        <span class="muted num">
          {plural(here.length, 'node')} · {count(Math.min(running, slots))} of{' '}
          {plural(slots, 'slot')} in use
        </span>
      </div>
      <StaleNote problem={problem} />
      {here.length === 0 && (
        <Empty title="No worker is connected">
          Nothing runs until one comes: <code>millrace worker --server HOST:GRPC</code>
        </Empty>
      )}
      <div class="cards">
        {here.map((node) => (
          <NodeCard key={node.id} node={node} refresh={refresh} />
        ))}
      </div>
      {gone.length > 0 && (
        <>
          <h2>
            <button
              type="button"
              class="quiet"
              aria-expanded={showsGone.value}
              onClick={() => (showsGone.value = !showsGone.value)}
            >
              {plural(gone.length, 'node')} not heard of
            </button>
          </h2>
          {showsGone.value && <Gone nodes={gone} />}
        </>
      )}
    </section>
  );
}

/** What has a line of its own, or says nothing to people. */
const OWN_LINE = new Set(['slots', 'prefetch', 'pressure', 'process', 'millrace_version']);

function NodeCard({
  node,
  refresh,
}: {
  readonly node: NodeShape;
  readonly refresh: () => void;
}): JSX.Element {
  const { quarantinedUntil: until, capabilities } = node;
  const leftMs = until === null ? 0 : Date.parse(until) - now.value;
  const marks = [
    ...(node.draining ? ['draining'] : []),
    ...(leftMs > 0 ? [`quarantined for another ${duration(leftMs)}`] : []),
    ...(typeof capabilities['pressure'] === 'string'
      ? [`short of ${capabilities['pressure']}`]
      : []),
  ];
  const shown = Object.entries(capabilities).filter(([name]) => !OWN_LINE.has(name));
  return (
    <article class="card">
      <header>
        <h2>
          <span
            class={`dot ${marks.length > 0 ? 'd-delayed' : 'd-succeeded'}`}
            aria-hidden="true"
          />
          {node.id}
          {leader.value?.nodeId === node.id && <span class="tag">leader</span>}
        </h2>
        <NodeActions node={node} isQuarantined={leftMs > 0} refresh={refresh} />
      </header>
      {marks.length > 0 && <p class="s-delayed">{marks.join(' · ')}</p>}
      <Slots node={node} />
      <dl class="pairs">
        <dt>Seen</dt>
        <dd>
          <Ago at={node.seenAt} />
        </dd>
        <dt>Up since</dt>
        <dd>
          <Ago at={node.registeredAt} />
        </dd>
        <dt>Version</dt>
        <dd>{node.version}</dd>
        {node.address !== null && (
          <>
            <dt>Address</dt>
            <dd>{node.address}</dd>
          </>
        )}
        {shown.map(([name, value]) => (
          <Capability key={name} name={name} value={value} />
        ))}
      </dl>
      <p class="tags" aria-label="Executors">
        {node.executors.map((name) => (
          <span key={name} class="tag">
            {name}
          </span>
        ))}
      </p>
    </article>
  );
}

function Capability({ name, value }: { readonly name: string; readonly value: Json }): JSX.Element {
  const isBytes = typeof value === 'number' && /bytes$/i.test(name);
  const text = isBytes ? bytes(value) : typeof value === 'string' ? value : JSON.stringify(value);
  return (
    <>
      <dt>{name}</dt>
      <dd class="wrap">{text}</dd>
    </>
  );
}

const SLOTS_MAX = 64;

/** A cell for each slot; what is held beyond that waits on the node already. */
function Slots({ node }: { readonly node: NodeShape }): JSX.Element {
  const used = Math.min(node.running, node.slots);
  const ahead = node.running - used;
  return (
    <div class="slots" role="img" aria-label={`${used} of ${node.slots} slots in use`}>
      {Array.from({ length: Math.min(node.slots, SLOTS_MAX) }, (_, at) => (
        <span key={at} class={at < used ? 'slot used' : 'slot'} />
      ))}
      <span class="num muted">
        {used} / {node.slots}
        {ahead > 0 && ` (+${ahead} fetched ahead)`}
      </span>
    </div>
  );
}

interface ActionProps {
  readonly node: NodeShape;
  readonly isQuarantined: boolean;
  readonly refresh: () => void;
}

function NodeActions({ node, isQuarantined, refresh }: ActionProps): JSX.Element | null {
  const asked = useSignal<'drain' | 'release' | null>(null);
  if (!may('admin')) return null;
  const close = (): void => {
    asked.value = null;
  };
  const run = (action: 'drain' | 'release') => async (): Promise<string> => {
    await post(`nodes/${encodeURIComponent(node.id)}/${action}`);
    refresh();
    return action === 'drain' ? `${node.id} takes no more work.` : `${node.id} takes work again.`;
  };
  return (
    <div class="actions">
      {(node.draining || isQuarantined) && (
        <button type="button" onClick={() => (asked.value = 'release')}>
          Release
        </button>
      )}
      {!node.draining && (
        <button type="button" onClick={() => (asked.value = 'drain')}>
          Drain
        </button>
      )}
      {asked.value === 'drain' && (
        <Confirm title={`Drain ${node.id}`} action="Drain" onClose={close} run={run('drain')}>
          <p>
            It finishes {plural(node.running, 'task')} that it holds and gets no more, until it is
            released. Tasks that only it can run will wait.
          </p>
        </Confirm>
      )}
      {asked.value === 'release' && (
        <Confirm title={`Release ${node.id}`} action="Release" onClose={close} run={run('release')}>
          <p>It leaves the drain and the quarantine, and takes work at once.</p>
        </Confirm>
      )}
    </div>
  );
}

function Gone({ nodes }: { readonly nodes: readonly NodeShape[] }): JSX.Element {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col">Status</th>
          <th scope="col">Seen</th>
          <th scope="col">Version</th>
        </tr>
      </thead>
      <tbody>
        {nodes.map((node) => (
          <tr key={node.id}>
            <td>{node.id}</td>
            <td>{node.status}</td>
            <td>
              <Ago at={node.seenAt} />
            </td>
            <td>{node.version}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
