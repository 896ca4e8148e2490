/** Another input for one task of a document that is stored already, checked like the first one. */
import type { Settings } from '../settings.ts';
import { storedInput, withConditions } from './condition.ts';
import type { JobDocument, TaskDocument } from './document.ts';
import { refuse } from './refuse.ts';
import { checkSize, readTemplate, type Referable } from './template.ts';
import { weigh } from './weigh.ts';

/** The conditions of the task stay. `value` is unchecked; `path` is its position in the caller's input. */
export function withInput(
  document: JobDocument,
  id: string,
  value: unknown,
  settings: Settings,
  path: string,
): JobDocument {
  const task = document.tasks.find((each) => each.id === id);
  if (task === undefined) return document;
  if (task.options.output !== undefined || task.options.admission !== undefined) {
    refuse(
      path,
      `'${id}' is a task of a query: its input is part of the plan.`,
      'Run the query again with other SQL.',
    );
  }
  weigh(value, path, 'The input', 0, settings.inputBytesMax);
  const given = value === null ? null : readTemplate(value, path, referableBy(document, task));
  checkSize(given, path, 'The input', settings.inputBytesMax);
  const input = withConditions(storedInput(task.input).conditions, given);
  return {
    ...document,
    tasks: document.tasks.map((each) => (each === task ? { ...task, input } : each)),
  };
}

function referableBy({ tasks }: JobDocument, { dependsOn }: TaskDocument): Referable {
  const ids = new Set<string>(dependsOn.flatMap(({ no }) => tasks[no]?.id ?? []));
  return {
    mayName: (id) => ids.has(id),
    ids: () => ids,
    fault: 'is not a dependency of this task',
    todo: 'A fork keeps the dependencies of the job that it is made of.',
  };
}
