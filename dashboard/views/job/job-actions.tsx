/** The actions on a job that its state and the caller's role allow. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { JobShape } from '../../../src/scheduler/contract/index.ts';
import type { Priority } from '../../../src/scheduler/core/index.ts';
import { call, post } from '../../api/call.ts';
import { may } from '../../api/cluster-status.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { parsedJson } from '../../parts/json-input.tsx';
import { go, link } from '../../route.ts';
import { now, plural } from '../../words.ts';
import { PRIORITIES, PriorityField, SignalFields } from '../job-fields.tsx';
import { tally } from './groups.ts';

type Asked = 'cancel' | 'rerun' | 'signal' | 'priority' | 'time' | 'remove';

export function JobActions({ job }: { readonly job: JobShape }): JSX.Element | null {
  const asked = useSignal<Asked | null>(null);
  if (!may('submit')) return null;
  const close = (): void => {
    asked.value = null;
  };
  const isLive = job.finishedAt === null;
  const canRerun = job.state === 'failed' || job.state === 'cancelled';
  const offered: readonly (readonly [Asked, string])[] = [
    ...(isDelayed(job) ? [['time', 'Reschedule'] as const] : []),
    ...(isLive
      ? ([
          ['signal', 'Signal'],
          ['priority', 'Priority'],
        ] as const)
      : []),
    ...(canRerun ? [['rerun', 'Rerun'] as const] : []),
    ...(isLive ? [['cancel', 'Cancel'] as const] : [['remove', 'Remove'] as const]),
  ];
  return (
    <div class="actions">
      {offered.map(([each, word]) => (
        <button key={each} type="button" onClick={() => (asked.value = each)}>
          {word}
        </button>
      ))}
      {asked.value === 'time' && <Reschedule job={job} close={close} />}
      {asked.value === 'priority' && <ChangePriority job={job} close={close} />}
      {asked.value === 'remove' && <Remove job={job} close={close} />}
      {asked.value === 'cancel' && <Cancel job={job} close={close} />}
      {asked.value === 'rerun' && <Rerun job={job} close={close} />}
      {asked.value === 'signal' && (
        <SendSignal job={job} awaited={awaitedSignals(job)} close={close} />
      )}
    </div>
  );
}

interface Props {
  readonly job: JobShape;
  readonly close: () => void;
}

const pathOf = ({ id }: Pick<JobShape, 'id'>): string => `jobs/${encodeURIComponent(id)}`;

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
      const [, names] =
        /signal (.+?)(?: or event .*)?(?:;| for another|$)/.exec(waiting ?? '') ?? [];
      return names === undefined ? [] : names.split(' or ').filter((name) => name !== '...');
    }),
  ),
];

const isDelayed = ({ state, runAt }: JobShape): boolean =>
  state === 'queued' && runAt !== null && Date.parse(runAt) > now.value;

function Reschedule({ job, close }: Props): JSX.Element {
  const text = useSignal(localTime(job.runAt));
  const isNow = useSignal(true);
  const at = new Date(text.value);
  const isValid = Number.isFinite(at.getTime());
  return (
    <Confirm
      title={`Reschedule ${job.name}`}
      action={isNow.value ? 'Start now' : 'Change the time'}
      isDisabled={!isNow.value && !isValid}
      onClose={close}
      run={async () => {
        const runAt = isNow.value ? 'now' : at.toISOString();
        const answer = await post<Changed>(`${pathOf(job)}/reschedule`, { runAt });
        if (!answer.changed) return `Nothing has changed. ${answer.why ?? ''}`;
        return isNow.value ? 'The job starts now.' : 'The job has another time.';
      }}
    >
      <label>
        When
        <select
          value={isNow.value ? 'now' : 'at'}
          onChange={(event) => (isNow.value = event.currentTarget.value === 'now')}
        >
          <option value="now">now</option>
          <option value="at">at another time</option>
        </select>
      </label>
      {!isNow.value && (
        <label>
          Starts at
          <input
            type="datetime-local"
            step={1}
            value={text.value}
            aria-invalid={!isValid}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
          <span class="muted hint">In the time zone of this browser.</span>
        </label>
      )}
    </Confirm>
  );
}

interface Changed {
  readonly changed: boolean;
  readonly why?: string;
}

/** As the box takes it: without a time zone. */
function localTime(at: string | null): string {
  const date = new Date(at ?? now.value);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

function ChangePriority({ job, close }: Props): JSX.Element {
  const priority = useSignal<Priority>(job.priority);
  return (
    <Confirm
      title={`Priority of ${job.name}`}
      action="Change"
      isDisabled={priority.value === job.priority}
      onClose={close}
      run={async () => {
        const body = { priority: priority.value };
        const { changed } = await post<Changed>(`${pathOf(job)}/priority`, body);
        return changed ? `It is ${PRIORITIES[priority.value]} now.` : 'Nothing has changed.';
      }}
    >
      <PriorityField priority={priority} />
      <p class="muted">
        For all its tasks that have not ended. Those that wait for a node move, what runs goes on.
      </p>
    </Confirm>
  );
}

function Remove({ job, close }: Props): JSX.Element {
  return (
    <Confirm
      title={`Remove ${job.name}`}
      action="Remove the job"
      isDanger
      onClose={close}
      run={async () => {
        await call(pathOf(job), { method: 'DELETE' });
        go(link(['jobs']));
        return 'The job is removed.';
      }}
    >
      <p>
        Its {plural(job.tasks.length, 'task')}, results, steps and log lines are deleted for good.
        Its events stay in the log. Jobs that it has called or submitted stay.
      </p>
    </Confirm>
  );
}

/** Also for a row of a list, which has no tasks. */
export function SendSignal({
  job,
  awaited,
  close,
}: {
  readonly job: Pick<JobShape, 'id' | 'name'>;
  readonly awaited: readonly string[];
  readonly close: () => void;
}): JSX.Element {
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
      <SignalFields name={name} body={body} />
    </Confirm>
  );
}
