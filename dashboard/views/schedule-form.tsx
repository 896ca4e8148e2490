/** A schedule to be made or changed: when it runs in fields, what it starts as JSON. */
import { type Signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ScheduleShape } from '../../src/scheduler/contract/index.ts';
import { call } from '../api/call.ts';
import { Confirm } from '../parts/dialog.tsx';
import { JsonDiff, JsonInput, parsedJson, prettyJson } from '../parts/json-input.tsx';
import { type ScheduleDraft, draftOf, specOf } from './schedule-draft.ts';
import { MISFIRES, OVERLAPS, fieldsOf, timingWords } from './schedule-words.ts';

const NEW: ScheduleDraft = {
  kind: 'cron',
  cron: '0 2 * * *',
  zone: 'UTC',
  every: '60',
  anchor: '',
  at: '',
  misfire: 'once',
  overlap: 'skip',
};
const DOCUMENT = { name: 'nightly', tasks: [{ id: 'a', executor: 'echo' }] };

export interface ScheduleFormProps {
  /** Null for a new one. */
  readonly schedule: ScheduleShape | null;
  readonly close: () => void;
  readonly refresh: () => void;
}

export function ScheduleForm({ schedule, close, refresh }: ScheduleFormProps): JSX.Element {
  const { flow, input = null, document = DOCUMENT } = fieldsOf(schedule?.spec ?? null);
  const isFlow = typeof flow === 'string';
  const before = isFlow ? input : document;
  const id = useSignal(schedule?.id ?? '');
  const draft = useSignal(schedule === null ? NEW : draftOf(schedule.spec));
  const text = useSignal(prettyJson(before));
  const job = parsedJson(text.value);
  const spec = job.ok
    ? specOf(draft.value, isFlow ? { flow, input: job.value } : { document: job.value })
    : null;
  return (
    <Confirm
      title={schedule === null ? 'New schedule' : `Edit ${schedule.id}`}
      action={schedule === null ? 'Create' : 'Save'}
      isWide
      isDisabled={spec === null || typeof spec === 'string' || id.value.trim() === ''}
      onClose={close}
      run={async () => {
        const path = `schedules/${encodeURIComponent(id.value.trim())}`;
        await call(path, { method: 'PUT', body: spec });
        refresh();
        return schedule === null ? `${id.value.trim()} is there.` : `${id.value} is changed.`;
      }}
    >
      <p class="muted">
        {schedule === null
          ? 'It starts jobs from the next of its times on.'
          : 'The next job is started by these times and is this job. Those that run are not changed.'}
      </p>
      {schedule === null && (
        <label>
          Name
          <input
            value={id.value}
            maxLength={200}
            required
            onInput={(event) => (id.value = event.currentTarget.value)}
          />
        </label>
      )}
      <TimingFields draft={draft} />
      <p class={typeof spec === 'string' ? 'error' : 'timing'}>
        {typeof spec === 'string' ? spec : spec === null ? '' : `Runs ${timingWords(spec)}.`}
      </p>
      <JsonInput label={isFlow ? `Input of ${flow} (JSON)` : 'Job (JSON)'} text={text} rows={8} />
      {schedule !== null && job.ok && (
        <JsonDiff before={before} after={job.value} what={isFlow ? 'input' : 'job'} />
      )}
    </Confirm>
  );
}

const KINDS = [
  ['cron', 'at times of the calendar'],
  ['every', 'every so often'],
  ['once', 'once'],
] as const;
function TimingFields({ draft }: { readonly draft: Signal<ScheduleDraft> }): JSX.Element {
  const { kind } = draft.value;
  return (
    <div class="form-grid">
      <Choice draft={draft} field="kind" title="Runs" options={KINDS} />
      {kind === 'cron' && (
        <>
          <Text draft={draft} field="cron" title="Minute, hour, day, month, weekday" />
          <Text draft={draft} field="zone" title="Time zone" />
        </>
      )}
      {kind === 'every' && <Text draft={draft} field="every" title="Seconds" />}
      {kind === 'once' && <Text draft={draft} field="at" title="Time, as 2026-11-15T02:00:00Z" />}
      <Choice draft={draft} field="misfire" title="If it was late" options={MISFIRES} />
      <Choice draft={draft} field="overlap" title="If the one before runs" options={OVERLAPS} />
    </div>
  );
}

interface FieldProps {
  readonly draft: Signal<ScheduleDraft>;
  readonly field: keyof ScheduleDraft;
  readonly title: string;
}

function Text({ draft, field, title }: FieldProps): JSX.Element {
  return (
    <label>
      {title}
      <input
        class="code"
        value={draft.value[field]}
        spellcheck={false}
        onInput={(event) => (draft.value = { ...draft.value, [field]: event.currentTarget.value })}
      />
    </label>
  );
}

function Choice({
  draft,
  field,
  title,
  options,
}: FieldProps & { readonly options: readonly (readonly [string, string])[] }): JSX.Element {
  return (
    <label>
      {title}
      <select
        value={draft.value[field]}
        onChange={(event) => (draft.value = { ...draft.value, [field]: event.currentTarget.value })}
      >
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
