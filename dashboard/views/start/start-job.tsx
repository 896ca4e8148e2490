/** Starting a job: a flow by its name, with a form made of the schema of its input, or a job document. */
import { type Signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { FlowShape } from '../../../src/scheduler/contract/index.ts';
import { call, post } from '../../api/call.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { idHeader, useFreshId } from '../../parts/fresh-id.ts';
import { JsonInput, parsedJson, prettyJson } from '../../parts/json-input.tsx';
import { Loading, ProblemNote } from '../../parts/marks.tsx';
import { useResource } from '../../parts/resource.ts';
import { go, link } from '../../route.ts';
import { plural, startWords } from '../../words.ts';
import { type Field, type FormValue, fieldsOf, valueOf } from './schema-fields.ts';

export function StartJob({ close }: { readonly close: () => void }): JSX.Element {
  const { state } = useResource('flows', (signal) =>
    call<{ readonly flows: readonly FlowShape[] }>('flows', { signal }),
  );
  const chosen = useSignal<string | null>(null);
  const texts = useSignal<Readonly<Record<string, string>>>({});
  const json = useSignal('');
  const isJson = useSignal(false);
  const flows = state.value.value?.flows ?? [];
  const flow = flows.find(({ name }) => name === (chosen.value ?? flows[0]?.name)) ?? null;
  const fields = flow === null || isJson.value ? null : fieldsOf(flow.input);
  const form = fields === null ? null : valueOf(fields, texts.value);
  const input = form ?? parsedJson(json.value);
  const id = useFreshId(JSON.stringify([flow?.name, input.ok ? input.value : null]));
  const choose = (name: string): void => {
    [chosen.value, texts.value, json.value, isJson.value] = [name, {}, '', false];
  };
  const toJson = (): void => {
    if (input.ok) json.value = prettyJson(input.value);
    isJson.value = true;
  };
  return (
    <Confirm
      title="Start a job"
      action="Start"
      isWide
      isDisabled={!input.ok || state.value.value === null}
      onClose={close}
      run={async () => {
        if (!input.ok) return '';
        const { id: made } = await post<{ id: string }>(
          flow === null ? 'jobs' : `flows/${encodeURIComponent(flow.name)}/jobs`,
          flow === null ? input.value : { input: input.value },
          idHeader(id.value),
        );
        go(link(['jobs', made]));
        return 'The job is submitted.';
      }}
    >
      {state.value.value === null ? (
        state.value.problem === null ? (
          <Loading lines={3} />
        ) : (
          <ProblemNote problem={state.value.problem} />
        )
      ) : (
        <>
          <WhichFlow flows={flows} flow={flow} choose={choose} />
          {fields === null ? (
            <JsonInput
              label={flow === null ? 'Job document (JSON)' : 'Input (JSON)'}
              text={json}
              rows={8}
              example={flow === null ? '{"tasks": [{"id": "a", "executor": "echo"}]}' : ''}
            />
          ) : (
            <Form fields={fields} form={form} texts={texts} toJson={toJson} />
          )}
        </>
      )}
    </Confirm>
  );
}

const DOCUMENT = '';

function WhichFlow({
  flows,
  flow,
  choose,
}: {
  readonly flows: readonly FlowShape[];
  readonly flow: FlowShape | null;
  readonly choose: (name: string) => void;
}): JSX.Element {
  // A leader of an earlier version says nothing of them.
  const { on = [] } = flow ?? {};
  return (
    <>
      <label>
        What
        <select
          value={flow?.name ?? DOCUMENT}
          onChange={(event) => choose(event.currentTarget.value)}
        >
          {flows.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
          <option value={DOCUMENT}>a job document</option>
        </select>
      </label>
      <p class="muted">
        {flow === null
          ? flows.length === 0
            ? 'No worker has published a flow. A job document can be submitted.'
            : 'The document is checked before anything is stored.'
          : flow.nodes.length === 0
            ? 'No live worker has this flow. The job waits for one.'
            : `${plural(flow.nodes.length, 'live worker')} can run it. It starts as soon as one is free.`}
        {on.length > 0 && ` Events start it too: ${on.map(startWords).join(', ')}.`}
      </p>
    </>
  );
}

function FormField({
  field,
  fault,
  texts,
}: {
  readonly field: Field;
  /** What is wrong with what is in it. */
  readonly fault: string | null;
  readonly texts: Signal<Readonly<Record<string, string>>>;
}): JSX.Element {
  const { name, kind, title, description, isRequired, choices } = field;
  const value = texts.value[name] ?? field.initial;
  const set = (event: { readonly currentTarget: { readonly value: string } }): void => {
    texts.value = { ...texts.value, [name]: event.currentTarget.value };
  };
  const options = kind === 'boolean' ? ['true', 'false'] : choices;
  return (
    <label>
      {title}
      {!isRequired && <span class="muted"> (optional)</span>}
      {description !== null && <span class="muted hint">{description}</span>}
      {kind === 'choice' || kind === 'boolean' ? (
        <select value={value} onChange={set}>
          <option value="" />
          {options.map((each) => (
            <option key={each} value={each}>
              {each.replace(/^"(.*)"$/, '$1')}
            </option>
          ))}
        </select>
      ) : kind === 'json' ? (
        <textarea class="code" rows={3} spellcheck={false} value={value} onInput={set} />
      ) : (
        <input
          value={value}
          inputMode={kind === 'text' ? 'text' : 'decimal'}
          spellcheck={false}
          aria-invalid={fault !== null}
          onInput={set}
        />
      )}
      {fault !== null && <span class="error hint">{fault}</span>}
    </label>
  );
}

function Form({
  fields,
  form,
  texts,
  toJson,
}: {
  readonly fields: readonly Field[];
  readonly form: FormValue | null;
  readonly texts: Signal<Readonly<Record<string, string>>>;
  readonly toJson: () => void;
}): JSX.Element {
  return (
    <>
      {fields.map((field) => (
        <FormField
          key={field.name}
          field={field}
          fault={
            form?.ok === false && form.field === field.name && field.name in texts.value
              ? form.why
              : null
          }
          texts={texts}
        />
      ))}
      <p>
        <button type="button" class="quiet" onClick={toJson}>
          Write it as JSON
        </button>
      </p>
    </>
  );
}
