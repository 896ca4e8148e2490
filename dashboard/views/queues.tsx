/** Queues: what waits and runs by executor and key, and a hand on the switch of each. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { CountedQueue } from '../../src/scheduler/contract/index.ts';
import { call, post } from '../api/call.ts';
import { may } from '../api/cluster-status.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Ago, StaleNote } from '../parts/marks.tsx';
import { useResource } from '../parts/resource.ts';
import { count, plural } from '../words.ts';

/** More rows help nobody; paused queues come first. */
const SHOWN_MAX = 50;

const nameOf = ({ executor, key }: CountedQueue): string => executor ?? key ?? '';

export function Queues(): JSX.Element {
  const { state, refresh } = useResource(
    'queues',
    (signal) => call<{ readonly queues: readonly CountedQueue[] }>('queues', { signal }),
    { refreshOn: ({ kind }) => kind.startsWith('queue.'), everyMs: 1_000, pollMs: 3_000 },
  );
  const { value, problem } = state.value;
  const queues = value?.queues ?? [];
  return (
    <section aria-label="Queues">
      <h2>Queues</h2>
      <StaleNote problem={problem} />
      {value !== null && queues.length === 0 && (
        <p class="muted">Nothing waits, runs or is paused.</p>
      )}
      {queues.length > 0 && (
        <div class="table-box">
          <table class="queues">
            <thead>
              <tr>
                <th scope="col">Queue</th>
                <th scope="col" class="right">
                  Ready
                </th>
                <th scope="col" class="right">
                  Running
                </th>
                <th scope="col">Paused</th>
                <th scope="col">
                  <span class="sr-only">Action</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {queues.slice(0, SHOWN_MAX).map((queue) => (
                <QueueRow
                  key={JSON.stringify([queue.executor, queue.key])}
                  queue={queue}
                  refresh={refresh}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {queues.length > SHOWN_MAX && (
        <p class="muted">
          and {count(queues.length - SHOWN_MAX)} more: <code>millrace queues</code>
        </p>
      )}
    </section>
  );
}

function QueueRow({
  queue,
  refresh,
}: {
  readonly queue: CountedQueue;
  readonly refresh: () => void;
}): JSX.Element {
  const { executor, ready, running, paused } = queue;
  return (
    <tr>
      <td class="wrap">
        {nameOf(queue)} {executor === null && <span class="tag">key</span>}
      </td>
      <td class="right num">{count(ready)}</td>
      <td class="right num">{count(running)}</td>
      <td class={paused === null ? 'none' : 's-delayed'}>
        {paused === null ? (
          '–'
        ) : (
          <>
            <Ago at={paused.since} />
            {paused.reason !== null && `: ${paused.reason}`}
          </>
        )}
      </td>
      <td class="right">{may('admin') && <Switch queue={queue} refresh={refresh} />}</td>
    </tr>
  );
}

function Switch({
  queue,
  refresh,
}: {
  readonly queue: CountedQueue;
  readonly refresh: () => void;
}): JSX.Element {
  const isAsked = useSignal(false);
  const reason = useSignal('');
  const { executor, key, paused, ready, running } = queue;
  const action = paused === null ? 'pause' : 'resume';
  const title = paused === null ? 'Pause' : 'Resume';
  const run = async (): Promise<string> => {
    await post(`queues/${action}`, {
      ...(executor === null ? { key } : { executor }),
      ...(action === 'pause' && reason.value.trim() !== '' ? { reason: reason.value.trim() } : {}),
    });
    refresh();
    return `${nameOf(queue)} ${paused === null ? 'is paused' : 'runs again'}.`;
  };
  return (
    <>
      <button
        type="button"
        onClick={() => (isAsked.value = true)}
        aria-label={`${title} ${nameOf(queue)}`}
      >
        {title}
      </button>
      {isAsked.value && (
        <Confirm
          title={`${title} ${nameOf(queue)}`}
          action={title}
          onClose={() => (isAsked.value = false)}
          run={run}
        >
          {paused === null ? (
            <>
              <p>
                No more of its tasks start until it is resumed.{' '}
                {running > 0 &&
                  `${plural(running, 'task')} that run${running === 1 ? 's' : ''} will not be stopped.`}
              </p>
              <label>
                Reason <span class="muted">(optional)</span>
                <input
                  value={reason.value}
                  onInput={(event) => (reason.value = event.currentTarget.value)}
                />
              </label>
            </>
          ) : (
            <p>Its tasks start again{ready > 0 && `: ${plural(ready, 'task')} can`}.</p>
          )}
        </Confirm>
      )}
    </>
  );
}
