/** How many jobs are in each state; a click narrows the list to one of them. */
import type { JSX } from 'preact';
import type { CountedJobs } from '../../src/scheduler/contract/index.ts';
import type { JobState } from '../../src/scheduler/core/index.ts';
import { call } from '../api/call.ts';
import { useResource } from '../parts/resource.ts';
import { count } from '../words.ts';
import { parseFilter, withState, withWaits } from './job-filter.ts';

const STATES: readonly JobState[] = ['queued', 'running', 'succeeded', 'failed', 'cancelled'];

export function StateCounts({
  text,
  set,
}: {
  readonly text: string;
  readonly set: (text: string) => void;
}): JSX.Element {
  const { state } = useResource('counts', (signal) => call<CountedJobs>('job-counts', { signal }), {
    refreshOn: ({ kind }) => kind.startsWith('job.'),
    everyMs: 2_000,
    // An answer may be from before the last event.
    pollMs: 5_000,
  });
  const counted = state.value.value;
  const parsed = parseFilter(text);
  const chosen = parsed.ok
    ? parsed.terms.flatMap(({ term }) => (term.kind === 'state' ? term.states : []))
    : [];
  const isWaiting = parsed.ok && parsed.terms.some(({ term }) => term.kind === 'waits');
  return (
    <div
      class="counts"
      role="group"
      aria-label="Jobs by state"
      title={counted?.isWhole === false ? 'Of the newest jobs: there are more.' : undefined}
    >
      {STATES.map((each) => (
        <button
          key={each}
          type="button"
          class={`count ${counted?.counts[each] === 0 ? '' : `s-${each}`}`}
          aria-pressed={chosen.includes(each)}
          onClick={() => set(withState(text, chosen.includes(each) ? null : each))}
        >
          <span class="num">
            {counted === null ? '·' : count(counted.counts[each])}
            {counted?.isWhole === false && '+'}
          </span>{' '}
          {each}
        </button>
      ))}
      <button
        type="button"
        class="count"
        aria-pressed={isWaiting}
        title="Jobs with a task that waits for a signal"
        onClick={() => set(withWaits(text, !isWaiting))}
      >
        waiting for a signal
      </button>
    </div>
  );
}
