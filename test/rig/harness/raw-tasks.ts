/** Raw documents, as short as a test can write them. */
import type { JobDocument, TaskOptions } from '../../../src/scheduler/core/index.ts';

export type RawTask = Readonly<Record<string, unknown>>;

/** A raw task document that any default node can run. */
export function echo(id: string, more: object = {}): RawTask {
  return { id, executor: 'echo', ...more };
}

/** `count` of them: t0, t1, ... */
export function echoes(count: number, more: object = {}): RawTask[] {
  return Array.from({ length: count }, (_, at) => echo(`t${at}`, more));
}

/** What no document of a user can say, by task. */
export type OwnOptions = Readonly<Record<string, OwnTask>>;

interface OwnTask extends Pick<TaskOptions, 'output' | 'admission' | 'stragglerFactor'> {
  readonly executor?: string;
}

/** All tasks as fragments of a query, which no document can ask for. */
export function asFragments(document: JobDocument): JobDocument {
  const tasks = document.tasks.map((task) => ({ ...task, executor: 'sql.fragment' }));
  return { ...document, tasks };
}

export function withOwnOptions(document: JobDocument, own: OwnOptions): JobDocument {
  return {
    ...document,
    tasks: document.tasks.map((task) => {
      const { executor = task.executor, ...more } = own[task.id] ?? {};
      return { ...task, executor, options: { ...task.options, ...more } };
    }),
  };
}
