/** An event that starts flows: the form to send one, and what it has started. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { EventJobReason, FlowShape } from '../../src/scheduler/contract/index.ts';
import { call, post } from '../api/call.ts';
import { Confirm, Dialog } from '../parts/dialog.tsx';
import { useFreshId } from '../parts/fresh-id.ts';
import { JsonInput, parsedJson } from '../parts/json-input.tsx';
import { useResource } from '../parts/resource.ts';
import { link } from '../route.ts';
import { plural } from '../words.ts';

interface SentJob {
  readonly flow: string;
  readonly id?: string;
  readonly isNew?: boolean;
  readonly because?: EventJobReason;
  readonly error?: { readonly detail?: string; readonly title?: string };
}

export function SendButton(): JSX.Element {
  const isOpen = useSignal(false);
  return (
    <div class="actions">
      <button type="button" onClick={() => (isOpen.value = true)}>
        Send an event
      </button>
      {isOpen.value && <SendEvent close={() => (isOpen.value = false)} />}
    </div>
  );
}

function SendEvent({ close }: { readonly close: () => void }): JSX.Element {
  const { state } = useResource('flows', (signal) =>
    call<{ readonly flows: readonly FlowShape[] }>('flows', { signal }),
  );
  const name = useSignal('');
  const text = useSignal('');
  const sent = useSignal<readonly SentJob[] | null>(null);
  const data = parsedJson(text.value);
  const event = name.value.trim();
  const id = useFreshId(JSON.stringify([event, text.value]));
  // A leader of an earlier version says nothing of them.
  const listeners = (state.value.value?.flows ?? []).map(({ name: flow, on }) => ({
    flow,
    on: on ?? [],
  }));
  const known = [...new Set(listeners.flatMap(({ on }) => on.map(eventOf)))].toSorted();
  const started = listeners.flatMap(({ flow, on }) => startedWords(flow, on, event));
  if (sent.value !== null) return <Started event={event} jobs={sent.value} close={close} />;
  return (
    <Confirm
      title="Send an event"
      action="Send"
      isDisabled={event === '' || !data.ok}
      onClose={() => {
        if (sent.value === null) close();
      }}
      run={async () => {
        const body = {
          ...(data.ok ? { data: data.value } : {}),
          ...(id.value === null ? {} : { id: id.value }),
        };
        const path = `triggers/${encodeURIComponent(event)}`;
        sent.value = (await post<{ readonly jobs: readonly SentJob[] }>(path, body)).jobs;
        return `${event} is sent.`;
      }}
    >
      <label>
        Name
        <input
          value={name.value}
          required
          maxLength={200}
          list="known-events"
          spellcheck={false}
          placeholder="order.paid"
          onInput={(input) => (name.value = input.currentTarget.value)}
        />
      </label>
      <datalist id="known-events">
        {known.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <p class="muted">
        {event === ''
          ? `Flows listen to ${plural(known.length, 'event')}.`
          : started.length === 0
            ? 'No flow listens to it: nothing will start.'
            : `It starts ${started.join(', ')}.`}
      </p>
      <JsonInput label="Data (JSON, or nothing for null)" text={text} example='{"id": "A-7"}' />
    </Confirm>
  );
}

/** The flow, if the event starts it. The server decides by the data. */
function startedWords(flow: string, on: NonNullable<FlowShape['on']>, event: string): string[] {
  const starts = on.filter((each) => eventOf(each) === event);
  if (starts.length === 0) return [];
  return [
    starts.every((each) => typeof each === 'string') ? flow : `${flow} (if its data matches)`,
  ];
}

function eventOf(start: NonNullable<FlowShape['on']>[number]): string {
  return typeof start === 'string' ? start : start.event;
}

function Started(props: {
  readonly event: string;
  readonly jobs: readonly SentJob[];
  readonly close: () => void;
}): JSX.Element {
  const { event, jobs, close } = props;
  return (
    <Dialog title={`${event} is sent`} onClose={close}>
      <div class="dialog-body">
        {jobs.length === 0 && <p>No flow listens to it: nothing has started.</p>}
        <ul>
          {jobs.map(({ flow, id, isNew, because, error }) => (
            <li key={flow}>
              {id === undefined ? (
                <>
                  {flow}: <span class="error">{error?.detail ?? error?.title ?? 'refused'}</span>
                </>
              ) : (
                <>
                  <a href={link(['jobs', id])} onClick={close}>
                    {flow}
                  </a>
                  {isNew === false &&
                    (because === 'singleton'
                      ? ', which is live: a singleton is not started beside it'
                      : ', which the event has started before')}
                </>
              )}
            </li>
          ))}
        </ul>
      </div>
      <div class="dialog-buttons">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
