/** The actions on a job that its state and the caller's role allow. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { JobShape } from '../../../src/scheduler/contract/index.ts';
import { post } from '../../api/call.ts';
import { may } from '../../api/cluster-status.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { JsonInput, parsedJson } from '../../parts/json-input.tsx';
import { plural } from '../../words.ts';
import { tally } from './groups.ts';

type Asked = 'cancel' | 'rerun' | 'signal' | null;

export function JobActions({ job }: { readonly job: JobShape }): JSX.Element | null {
  const asked = useSignal<Asked>(null);
  if (!may('submit')) return null;
  const close = (): void => {
    asked.value = null;
  };
  const isLive = job.finishedAt === null;
  const canRerun = job.state === 'failed' || job.state === 'cancelled';
  return (
    <div class="actions">
      {isLive && (
        <button type="button" onClick={() => (asked.value = 'signal')}>
          Signal
        </button>
      )}
      {canRerun && (
        <button type="button" onClick={() => (asked.value = 'rerun')}>
          Rerun
        </button>
      )}
      {isLive && (
        <button type="button" onClick={() => (asked.value = 'cancel')}>
          Cancel
        </button>
      )}
      {asked.value === 'cancel' && <Cancel job={job} close={close} />}
      {asked.value === 'rerun' && <Rerun job={job} close={close} />}
      {asked.value === 'signal' && <Signal job={job} close={close} />}
    </div>
  );
}

interface Props {
  readonly job: JobShape;
  readonly close: () => void;
}

const pathOf = ({ id }: JobShape): string => `jobs/${encodeURIComponent(id)}`;

const keptWords = (results: number, one: string, many: string): string =>
  `${plural(results, 'result')} ${results === 1 ? one : many}.`;

function Cancel({ job, close }: Props): JSX.Element {
  const reason = useSignal('');
  const { running, ready, blocked, delayed, succeeded } = tally(job.tasks);
  const waiting = ready + blocked + delayed;
  const effects = [
    ...(running > 0 ? [`${plural(running, 'running task')} will be asked to stop`] : []),
    ...(waiting > 0 ? [`${plural(waiting, 'task')} will not start`] : []),
  ];
  return (
    <Confirm
      title={`Cancel ${job.name}`}
      action="Cancel the job"
      isDanger
      onClose={close}
      run={async () => {
        const text = reason.value.trim();
        await post(`${pathOf(job)}/cancel`, text === '' ? {} : { reason: text });
        return 'The job is being cancelled.';
      }}
    >
      <p>
        {effects.length === 0 ? 'No task is left to stop' : effects.join(', and ')}.
        {succeeded > 0 && ` ${keptWords(succeeded, 'stays', 'stay')}`}
      </p>
      <label>
        Reason (optional)
        <input
          value={reason.value}
          maxLength={500}
          onInput={(event) => (reason.value = event.currentTarget.value)}
        />
      </label>
    </Confirm>
  );
}

function Rerun({ job, close }: Props): JSX.Element {
  const { failed, cancelled, skipped, succeeded } = tally(job.tasks);
  return (
    <Confirm
      title={`Rerun ${job.name}`}
      action="Rerun"
      onClose={close}
      run={async () => {
        await post(`${pathOf(job)}/rerun`, { expectedRun: job.run });
        return `Run ${job.run + 1} has started.`;
      }}
    >
      <p>
        {plural(failed + cancelled + skipped, 'task')} that did not succeed will run again, as run{' '}
        {job.run + 1}.{succeeded > 0 && ` ${keptWords(succeeded, 'is kept', 'are kept')}`}
      </p>
    </Confirm>
  );
}

/** The names that tasks say they wait for. */
const awaitedSignals = (job: JobShape): readonly string[] => [
  ...new Set(
    job.tasks.flatMap(({ waiting }) => {
      const [, names] = /signal (.+?)(?:;| for another|$)/.exec(waiting ?? '') ?? [];
      return names === undefined ? [] : names.split(' or ').filter((name) => name !== '...');
    }),
  ),
];

function Signal({ job, close }: Props): JSX.Element {
  const awaited = awaitedSignals(job);
  const name = useSignal(awaited[0] ?? '');
  const body = useSignal('');
  const key = useSignal(String(Math.random()).slice(2));
  const value = parsedJson(body.value);
  return (
    <Confirm
      title={`Signal ${job.name}`}
      action="Send"
      isDisabled={name.value.trim() === '' || !value.ok}
      onClose={close}
      run={async () => {
        const path = `${pathOf(job)}/signals/${encodeURIComponent(name.value.trim())}`;
        const sent = value.ok ? value.value : null;
        const { signal } = await post<{ signal?: { takenBy: string | null } }>(path, sent, {
          'idempotency-key': `dashboard-${key.value}`,
        });
        const taker = signal?.takenBy ?? null;
        return taker === null ? 'Nobody waits for it yet; it is kept.' : `${taker} took it.`;
      }}
    >
      <p class="muted">
        {awaited.length === 0
          ? 'No task waits for a signal now. It is kept for the first that will.'
          : `Tasks wait for: ${awaited.join(', ')}.`}
      </p>
      <label>
        Name
        <input
          value={name.value}
          required
          maxLength={200}
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
      </label>
      <JsonInput
        label="Value (JSON, or nothing for null)"
        text={body}
        example='{"approved": true}'
      />
    </Confirm>
  );
}
