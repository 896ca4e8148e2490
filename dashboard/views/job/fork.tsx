/** A new job from a task of this one on, with another input for that task if wanted. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { JobShape, TaskDetail, TaskShape } from '../../../src/scheduler/contract/index.ts';
import type { Json } from '../../../src/scheduler/core/index.ts';
import { call, post } from '../../api/call.ts';
import { type Problem, asProblem } from '../../api/problem.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { idHeader, useFreshId } from '../../parts/fresh-id.ts';
import { JsonDiff, JsonInput, parsedJson, prettyJson } from '../../parts/json-input.tsx';
import { ProblemNote } from '../../parts/marks.tsx';
import { go, link } from '../../route.ts';
import { plural } from '../../words.ts';
import { belowOf, descendantsOf } from './groups.ts';

export interface ForkProps {
  readonly job: JobShape;
  readonly task: TaskShape;
  readonly close: () => void;
}

/** A larger input is not put into a box. */
const EDITED_MAX = 200_000;

export function Fork({ job, task, close }: ForkProps): JSX.Element {
  const text = useSignal('');
  const { input, problem } = useInput(job.id, task.id, (value) => (text.value = value));
  const id = useFreshId(text.value);
  const parsed = parsedJson(text.value);
  const isEdited =
    input.value !== null && parsed.ok && prettyJson(parsed.value) !== prettyJson(input.value.value);
  return (
    <Confirm
      title={`Fork from ${task.id}`}
      action={isEdited ? 'Create the job with this input' : 'Create the job'}
      isWide
      isDisabled={!parsed.ok}
      onClose={close}
      run={async () => {
        const { id: made } = await post<{ id: string }>(
          `jobs/${encodeURIComponent(job.id)}/fork`,
          { from: task.id, ...(isEdited && parsed.ok ? { input: parsed.value } : {}) },
          idHeader(id.value),
        );
        go(link(['jobs', made]));
        return 'The new job is here.';
      }}
    >
      <WhatItDoes job={job} task={task} />
      {problem.value !== null && <ProblemNote problem={problem.value} />}
      {input.value !== null && input.value.isEditable && (
        <>
          <JsonInput label={`Input of ${task.id} (JSON)`} text={text} rows={8} />
          {parsed.ok && <JsonDiff before={input.value.value} after={parsed.value} />}
        </>
      )}
      {input.value !== null && !input.value.isEditable && (
        <p class="muted">The input is too large to be edited here; it stays as it is.</p>
      )}
    </Confirm>
  );
}

function WhatItDoes({ job, task }: Omit<ForkProps, 'close'>): JSX.Element {
  const again = [task, ...belowOf(job, task.id)];
  const children = descendantsOf(job, again);
  const ids = new Set<string>([...again, ...children].map(({ id }) => id));
  const others = job.tasks.filter(({ id }) => !ids.has(id));
  const kept = others.filter(({ state }) => state === 'succeeded').length;
  const rest = others.length - kept;
  return (
    <>
      <p>
        A new job {kept > 0 && `takes over ${plural(kept, 'result')} and `}runs{' '}
        {plural(again.length, 'task')} again
        {rest > 0 && <>, and {plural(rest, 'task')} that did not succeed</>}.
        {children.length > 0 && ' The tasks below them run again too, or are added anew.'} This job
        stays as it is.
      </p>
      <p class="muted wrap">
        Again:{' '}
        {again
          .slice(0, 12)
          .map(({ id }) => id)
          .join(', ')}
        {again.length > 12 && ' …'}
      </p>
    </>
  );
}

interface StoredInput {
  readonly value: Json;
  readonly isEditable: boolean;
}

function useInput(
  job: string,
  task: string,
  show: (text: string) => void,
): {
  readonly input: { readonly value: StoredInput | null };
  readonly problem: { readonly value: Problem | null };
} {
  const input = useSignal<StoredInput | null>(null);
  const problem = useSignal<Problem | null>(null);
  useEffect(() => {
    const path = `jobs/${encodeURIComponent(job)}/tasks/${encodeURIComponent(task)}`;
    call<TaskDetail>(path).then(
      (detail) => {
        const value = templateOf(detail.input);
        const text = prettyJson(value);
        const isEditable = text.length <= EDITED_MAX;
        if (isEditable) show(text);
        input.value = { value, isEditable };
      },
      (error: unknown) => (problem.value = asProblem(error)),
    );
  }, []);
  return { input, problem };
}

/** Conditions are stored around the input; a fork keeps them. */
function templateOf(stored: Json): Json {
  if (stored === null || typeof stored !== 'object' || Array.isArray(stored)) return stored;
  const object = stored as Readonly<Record<string, Json>>;
  return Object.hasOwn(object, '$when') ? (object['input'] ?? null) : stored;
}
