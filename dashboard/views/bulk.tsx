/** One action on all jobs that fit the search, as a job of its own. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { BulkAction } from '../../src/scheduler/contract/index.ts';
import type { JobState, Priority } from '../../src/scheduler/core/index.ts';
import { call, post } from '../api/call.ts';
import { Confirm } from '../parts/dialog.tsx';
import { idHeader, useFreshId } from '../parts/fresh-id.ts';
import { parsedJson } from '../parts/json-input.tsx';
import { ProblemNote } from '../parts/marks.tsx';
import { useResource } from '../parts/resource.ts';
import { go, link } from '../route.ts';
import { count, plural, serverNow } from '../words.ts';
import { PriorityField, SignalFields } from './job-fields.tsx';
import { type ParsedTerm, hasLocalPart, serverPart } from './job-filter.ts';

const EFFECTS: Readonly<Record<BulkAction, string>> = {
  cancel: 'Those that have not ended are cancelled.',
  rerun: 'Those that failed or were cancelled run again what did not succeed.',
  redrive: 'In those that failed, tasks that are out of attempts start again.',
  signal: 'Those that have not ended get the signal; one that no task waits for is kept.',
  priority: 'Those that have not ended get this priority. What runs goes on.',
  reschedule: 'Those that wait for their time start now.',
  remove: 'Those that have ended are removed with their results and log lines.',
};
const ACTIONS = Object.keys(EFFECTS) as readonly BulkAction[];
const LIVE_ACTIONS = ['cancel', 'signal', 'priority'] as const;

/** What changes nothing about a job in that state is not offered. */
const ACTIONS_BY_STATE: Readonly<Record<JobState, readonly BulkAction[]>> = {
  queued: [...LIVE_ACTIONS, 'reschedule'],
  running: [...LIVE_ACTIONS, 'redrive'],
  succeeded: ['remove'],
  failed: ['rerun', 'redrive', 'remove'],
  cancelled: ['rerun', 'remove'],
};

function actionsOn(terms: readonly ParsedTerm[]): readonly BulkAction[] {
  const { state } = serverPart(terms, 0);
  return state === undefined ? ACTIONS : ACTIONS_BY_STATE[state];
}

/** Why nothing can be done to all of them, or null. The server looks for them, so it must know every term. */
export function whyNotAll(terms: readonly ParsedTerm[]): string | null {
  if (hasLocalPart(terms) || terms.some(({ term }) => term.kind === 'id'))
    return 'Only for searches by one state, an exact name, labels and a signal.';
  return null;
}

type Filter = ReturnType<typeof serverPart>;

const PAGE = 1_000;
const PAGES_MAX = 5;

async function countOf(filter: Filter, signal: AbortSignal): Promise<string> {
  const { labels = [], ...fields } = filter;
  let [found, cursor] = [0, null as string | null];
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const query = new URLSearchParams({ ...fields, limit: String(PAGE) });
    for (const label of labels) query.append('label', label);
    if (cursor !== null) query.set('cursor', cursor);
    const page = await call<{ jobs: unknown[]; cursor: string | null }>(`jobs?${query}`, {
      signal,
    });
    found += page.jobs.length;
    ({ cursor } = page);
    if (cursor === null) return plural(found, 'job');
  }
  return `More than ${count(found)} jobs`;
}

/** What there is to say of the action; null while that is missing. */
function changeOf(
  action: BulkAction,
  name: string,
  body: string,
  priority: Priority,
): object | null {
  const value = parsedJson(body);
  if (action === 'signal') {
    return name === '' || !value.ok ? null : { signal: name, value: value.value };
  }
  if (action === 'priority') return { priority };
  return action === 'reschedule' ? { runAt: 'now' } : {};
}

export function BulkDialog({
  terms,
  close,
}: {
  readonly terms: readonly ParsedTerm[];
  readonly close: () => void;
}): JSX.Element {
  const actions = actionsOn(terms);
  const action = useSignal<BulkAction>(actions[0] ?? 'cancel');
  const text = terms.map((each) => each.text).join(' ');
  // What is counted is what is acted on.
  const filter = useSignal(serverPart(terms, serverNow())).value;
  const { state } = useResource(`bulk ${text}`, (signal) => countOf(filter, signal));
  const name = useSignal(filter.waitingFor === '*' ? '' : (filter.waitingFor ?? ''));
  const body = useSignal('');
  const priority = useSignal<Priority>(1);
  const change = changeOf(action.value, name.value.trim(), body.value, priority.value);
  const id = useFreshId(JSON.stringify(change));
  const { value: found, problem } = state.value;
  return (
    <Confirm
      title="Act on all that fit"
      action={`${action.value.charAt(0).toUpperCase()}${action.value.slice(1)} all`}
      isDanger={action.value === 'cancel' || action.value === 'remove'}
      isDisabled={found === null || change === null}
      onClose={close}
      run={async () => {
        const request = { action: action.value, ...change, filter };
        const { id: made } = await post<{ id: string }>('bulk', request, idHeader(id.value));
        go(link(['jobs', made]));
        return 'The job that does it is here.';
      }}
    >
      <p>
        <strong>{found ?? 'Counting the jobs that'}</strong> {found === '1 job' ? 'fits' : 'fit'}{' '}
        <code>{text}</code>
        {found === null && '…'}
      </p>
      {problem !== null && <ProblemNote problem={problem} />}
      <label>
        Action
        <select
          value={action.value}
          onChange={(event) => (action.value = event.currentTarget.value as BulkAction)}
        >
          {actions.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      {action.value === 'signal' && <SignalFields name={name} body={body} />}
      {action.value === 'priority' && <PriorityField priority={priority} />}
      <p>{EFFECTS[action.value]} The others stay as they are.</p>
      <p class="muted">
        This is a job too: it goes on if you close this page or the leader changes, and can be
        cancelled. Jobs that are submitted after it are left alone.
      </p>
    </Confirm>
  );
}
