/** Which tasks of a large job are shown: by name and by state. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { TaskShape } from '../../../src/scheduler/contract/index.ts';
import type { TaskState } from '../../../src/scheduler/core/index.ts';
import { count } from '../../words.ts';
import { tally } from './groups.ts';

export interface TaskFilter {
  readonly search: string;
  /** Null for all. */
  readonly state: TaskState | null;
}

const ORDER: readonly TaskState[] = [
  'failed',
  'running',
  'ready',
  'delayed',
  'blocked',
  'succeeded',
  'skipped',
  'cancelled',
];

export function fits({ id, executor, state, node }: TaskShape, filter: TaskFilter): boolean {
  if (filter.state !== null && filter.state !== state) return false;
  const wanted = filter.search.trim().toLowerCase();
  return wanted === '' || `${id} ${executor} ${node ?? ''}`.toLowerCase().includes(wanted);
}

export function TaskTools({
  tasks,
  filter,
}: {
  readonly tasks: readonly TaskShape[];
  readonly filter: Signal<TaskFilter>;
}): JSX.Element {
  const counts = tally(tasks);
  const { search, state } = filter.value;
  return (
    <div class="tools">
      <input
        data-search
        type="search"
        aria-label="Search tasks"
        placeholder="Find a task, an executor or a node"
        value={search}
        onInput={(event) => (filter.value = { ...filter.value, search: event.currentTarget.value })}
      />
      <div class="counts" role="group" aria-label="Tasks by state">
        {ORDER.filter((each) => counts[each] > 0).map((each) => (
          <button
            key={each}
            type="button"
            class={`count s-${each}`}
            aria-pressed={each === state}
            onClick={() =>
              (filter.value = { ...filter.value, state: each === state ? null : each })
            }
          >
            <span class="num">{count(counts[each])}</span> {each}
          </button>
        ))}
      </div>
    </div>
  );
}
