/** Nodes: what each can do, what it holds, and whether it may take more. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { NodeShape } from '../../src/scheduler/contract/index.ts';
import { call, post } from '../api/call.ts';
import { leader, may } from '../api/cluster-status.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Ago, Empty, NotLoaded, StaleNote } from '../parts/marks.tsx';
import { useResource } from '../parts/resource.ts';
import { count, duration, now, plural } from '../words.ts';
import { NodeFacts } from './node-facts.tsx';
import { type Lease, type Leases, Slots } from './node-slots.tsx';

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
  const held = useResource('leases', (signal) => call<Leases>('leases', { signal }), {
    refreshOn: ({ kind }) => kind === 'assigned' || kind === 'completed' || kind === 'failed',
    everyMs: 1_000,
    pollMs: 3_000,
  });
  // Another node than the leader does not know them: then slots have no names.
  const leases = held.state.value.problem === null ? (held.state.value.value?.leases ?? []) : [];
  const showsGone = useSignal(false);
  const { value, problem } = state.value;
  if (value === null) return <NotLoaded problem={problem} title="Nodes" />;
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
          <NodeCard
            key={node.id}
            node={node}
            leases={leases.filter((lease) => lease.node === node.id)}
            refresh={refresh}
          />
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

function NodeCard({
  node,
  leases,
  refresh,
}: {
  readonly node: NodeShape;
  readonly leases: readonly Lease[];
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
      <Slots node={node} leases={leases} />
      <NodeFacts node={node} />
    </article>
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
            It takes no more work{node.running > 0 && `, finishes ${plural(node.running, 'task')}`}{' '}
            and exits. What outlasts its grace period goes back to the queue. It takes work again
            when it is started again.
          </p>
        </Confirm>
      )}
      {asked.value === 'release' && (
        <Confirm title={`Release ${node.id}`} action="Release" onClose={close} run={run('release')}>
          <p>
            {node.draining
              ? 'It is sent work again. A worker that has begun to leave exits all the same.'
              : 'It leaves the quarantine, and takes work at once.'}
          </p>
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
