/** What a change of a job asks for: the same fields for one job and for many. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Priority } from '../../src/scheduler/core/index.ts';
import { JsonInput } from '../parts/json-input.tsx';

export const PRIORITIES = ['urgent', 'high', 'normal', 'low'] as const;

export function PriorityField({ priority }: { readonly priority: Signal<Priority> }): JSX.Element {
  return (
    <label>
      Priority
      <select
        value={priority.value}
        onChange={(event) => (priority.value = Number(event.currentTarget.value) as Priority)}
      >
        {PRIORITIES.map((word, at) => (
          <option key={word} value={at}>
            {at} {word}
          </option>
        ))}
      </select>
    </label>
  );
}

export function SignalFields(props: {
  readonly name: Signal<string>;
  readonly body: Signal<string>;
}): JSX.Element {
  const { name, body } = props;
  return (
    <>
      <label>
        Name
        <input
          value={name.value}
          required
          maxLength={200}
          spellcheck={false}
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
      </label>
      <JsonInput
        label="Value (JSON, or nothing for null)"
        text={body}
        example='{"approved": true}'
      />
    </>
  );
}
