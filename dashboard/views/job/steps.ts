/** The steps of a task as people know them: a wait leaves some under names of its own. */
import type { EventShape, TaskDetail } from '../../../src/scheduler/contract/index.ts';
import type { Json } from '../../../src/scheduler/core/index.ts';

export interface ShownStep {
  /** Unique within the task. */
  readonly key: string;
  readonly title: string;
  /** What kind of wait it was; null for a step of the handler. */
  readonly tag: string | null;
  readonly result: Json;
}

const TAGS: Readonly<Record<string, string>> = {
  sleep: 'sleep',
  until: 'time limit',
  signal: 'signal',
  job: 'call',
  submit: 'submission',
};

/** Notes that only the worker needs are left out. */
export function shownSteps(steps: TaskDetail['steps']): readonly ShownStep[] {
  return steps.flatMap(({ name, result }): readonly ShownStep[] => {
    if (!name.startsWith('$')) return [{ key: name, title: name, tag: null, result }];
    const [, kind = '', title = ''] = /^\$(\w+)\/(.*)$/s.exec(name) ?? [];
    const tag = Object.hasOwn(TAGS, kind) ? (TAGS[kind] ?? null) : null;
    return tag === null ? [] : [{ key: name, title, tag, result }];
  });
}

export interface SentSignal {
  readonly seq: number;
  readonly at: string;
  readonly name: string;
  /** The task that waited for it when it came. */
  readonly takenBy: string | null;
}

/** Those that the job's events tell of, oldest first. */
export function sentSignals(events: readonly EventShape[]): readonly SentSignal[] {
  return events.flatMap(({ kind, seq, at, detail }) => {
    if (kind !== 'job.signalled' || detail === null || typeof detail !== 'object') return [];
    const { name, takenBy } = detail as Readonly<Record<string, Json | undefined>>;
    return [
      {
        ...{ seq, at, name: typeof name === 'string' ? name : '' },
        takenBy: typeof takenBy === 'string' ? takenBy : null,
      },
    ];
  });
}
