/** The event log: without gaps, from any number on. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { EventShape } from '../../src/scheduler/contract/index.ts';
import { isPaused } from '../api/live.ts';
import { type Problem, asProblem, isAbort } from '../api/problem.ts';
import { asOf, may } from '../api/cluster-status.ts';
import { followLog } from '../api/live.ts';
import { useKeys } from '../keyboard.ts';
import { Loading, ProblemNote } from '../parts/marks.tsx';
import { replaceQuery, route } from '../route.ts';
import { count } from '../words.ts';
import { EventTable } from './event-table.tsx';
import { SendButton } from './send-event.tsx';

/** Older ones leave the page, not the log. */
const KEPT_MAX = 20_000;
/** How many past events to load, unless a number is given. */
const BEFORE = 500;

export function EventsView(): JSX.Element {
  const after = route.value.query.get('after');
  const events = useSignal<readonly EventShape[]>([]);
  const problem = useSignal<Problem | null>(null);
  const search = useSignal('');
  const head = useSignal<number | null>(null);
  if (head.value === null && asOf.value !== null) head.value = asOf.value.seq;
  useKeys({ p: () => (isPaused.value = !isPaused.value) });
  const from = after ?? (head.value === null ? null : String(Math.max(0, head.value - BEFORE)));
  useEffect(() => {
    if (from === null || isPaused.value) return;
    const over = new AbortController();
    [events.value, problem.value] = [[], null];
    followLog(
      from,
      (more) => (events.value = [...more.toReversed(), ...events.value].slice(0, KEPT_MAX)),
      over.signal,
    ).catch((error: unknown) => {
      if (!isAbort(error)) problem.value = asProblem(error);
    });
    return () => over.abort();
  }, [from, isPaused.value]);
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const shown =
    words.length === 0 ? events.value : events.value.filter((event) => fits(event, words));
  return (
    <section class="view fill">
      <div class="view-head">
        <h1>Events</h1>
        <span class="muted num">
          {words.length === 0 ? '' : `${count(shown.length)} of `}
          {count(events.value.length)} read
        </span>
        {may('submit') && <SendButton />}
      </div>
      <div class="event-tools">
        <input
          data-search
          type="search"
          aria-label="Filter events"
          placeholder="Filter: kind, job, task or node"
          value={search.value}
          onInput={(event) => (search.value = event.currentTarget.value)}
        />
        <label>
          After number{' '}
          <input
            class="number"
            inputMode="numeric"
            aria-label="After number"
            value={after ?? ''}
            placeholder={from ?? ''}
            onChange={(event) =>
              replaceQuery({
                after: /^\d{1,15}$/.test(event.currentTarget.value)
                  ? event.currentTarget.value
                  : '',
              })
            }
          />
        </label>
        <button type="button" class="quiet" onClick={() => replaceQuery({ after: '0' })}>
          from the beginning
        </button>
      </div>
      {problem.value !== null && <ProblemNote problem={problem.value} />}
      {from === null ? <Loading /> : <EventTable events={shown} hasJob />}
    </section>
  );
}

const fits = (event: EventShape, words: readonly string[]): boolean => {
  const text =
    `${event.kind} ${event.job ?? ''} ${event.task ?? ''} ${event.node ?? ''}`.toLowerCase();
  return words.every((word) => text.includes(word));
};
