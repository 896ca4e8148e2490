import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { JobSummary } from '../../src/scheduler/contract/index.ts';
import { may } from '../api/cluster-status.ts';
import { SendSignal } from './job/job-actions.tsx';

/** An event goes to all who wait for it, not to a job: see the events page. */
const EVENT = 'event/';
const isEvent = (name: string): boolean => name.startsWith(EVENT);

/** What its tasks wait for, each signal a way to send it. */
export function Awaited({
  job,
  signals,
}: {
  readonly job: JobSummary;
  readonly signals: readonly string[];
}): JSX.Element {
  const asked = useSignal<string | null>(null);
  if (!may('submit')) return <span> · waits for {signals.join(', ')}</span>;
  return (
    <span>
      {' '}
      · waits for{' '}
      {signals.filter(isEvent).map((name) => (
        <span key={name} class="label">
          event {name.slice(EVENT.length)}
        </span>
      ))}
      {signals
        .filter((name) => !isEvent(name))
        .map((name) => (
          <button
            key={name}
            type="button"
            class="quiet above"
            aria-label={`Send ${name} to ${job.name}`}
            onClick={() => (asked.value = name)}
          >
            {name}
          </button>
        ))}
      {asked.value !== null && (
        <SendSignal job={job} awaited={[asked.value]} close={() => (asked.value = null)} />
      )}
    </span>
  );
}
