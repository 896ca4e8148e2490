/** What a module offers: the tasks, flows and operators among its exports. */
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { FlowDefinition, TaskDefinition } from '../executor.ts';
import type { CustomDefinition } from '../operators/operator.ts';
import type { Exports } from './import.ts';

export interface Definitions {
  /** Those that the flows bring with them included. */
  readonly tasks: readonly TaskDefinition[];
  /** Those that are exported themselves. */
  readonly exported: readonly TaskDefinition[];
  /** The default export comes first. */
  readonly flows: readonly FlowDefinition[];
  /** Functions for queries included. */
  readonly operators: readonly CustomDefinition[];
}

type Fields = Readonly<Record<string, unknown>>;

/** An export is a definition, or a list of them. One that is there twice is one definition. */
export function definitionsIn(exports: Exports, file: string): Definitions {
  const found = {
    tasks: new Set<TaskDefinition>(),
    exported: new Set<TaskDefinition>(),
    flows: new Set<FlowDefinition>(),
    operators: new Set<CustomDefinition>(),
  };
  const add = (value: Fields, where: string): void => {
    switch (value['kind']) {
      case 'millrace.task':
        if (!isTask(value)) throw notWhole(where, file, 'task', TASK_HAS);
        found.tasks.add(value);
        if (value.whenFailed !== undefined)
          add(value.whenFailed as unknown as Fields, `${where}.whenFailed`);
        return;
      case 'millrace.flow':
        if (!isFlow(value)) throw notWhole(where, file, 'flow', FLOW_HAS);
        found.flows.add(value);
        for (const task of value.tasks) add(task as unknown as Fields, `${where}.tasks`);
        return;
      case 'millrace.operator':
      case 'millrace.function':
        if (!isOperator(value)) throw notWhole(where, file, 'operator', OPERATOR_HAS);
        found.operators.add(value);
        return;
      default:
        // Other exports are the module's own business.
        return;
    }
  };
  for (const [name, value] of defaultFirst(exports)) {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const each of values) {
      if (!isFields(each)) continue;
      add(each, name);
      if (each['kind'] === 'millrace.task' && isTask(each)) found.exported.add(each);
    }
  }
  return {
    tasks: [...found.tasks],
    exported: [...found.exported],
    flows: [...found.flows],
    operators: [...found.operators],
  };
}

/** The task definitions in a flow, or the task itself; none in anything else. */
export function definitionsOf(what: unknown): readonly TaskDefinition[] {
  if (!isFields(what)) return [];
  if (what['kind'] === 'millrace.task') return isTask(what) ? withHook(what) : [];
  return what['kind'] === 'millrace.flow' && isFlow(what) ? what.tasks : [];
}

function withHook(task: TaskDefinition): readonly TaskDefinition[] {
  return task.whenFailed === undefined ? [task] : [task, task.whenFailed];
}

const TASK_HAS = 'A task has a name that is text and a function run(input, context).';
const OPERATOR_HAS = 'Use what defineOperator or defineFunction returns.';
const FLOW_HAS =
  'A flow has a name that is text, a list of tasks and a function toDocument(input).';

/** Of a CommonJS module the default export is an object of all it exports. */
function defaultFirst(exports: Exports): readonly (readonly [string, unknown])[] {
  const first = exports['default'];
  const inner = isFields(first) && !Array.isArray(first) && !('kind' in first) ? first : {};
  const others = Object.entries(exports).filter(([name]) => name !== 'default');
  return [['default', first], ...others, ...Object.entries(inner)];
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function isTask(value: Fields): value is Fields & TaskDefinition {
  const { name, run, thread } = value;
  const isThread = thread === undefined || typeof thread === 'string';
  return typeof name === 'string' && typeof run === 'function' && isThread;
}

function isFlow(value: Fields): value is Fields & FlowDefinition {
  const { name, tasks, toDocument } = value;
  return typeof name === 'string' && Array.isArray(tasks) && typeof toDocument === 'function';
}

function isOperator(value: Fields): value is Fields & CustomDefinition {
  const { name, output, run } = value;
  const hasOutput = typeof output === 'string' || (typeof output === 'object' && output !== null);
  return typeof name === 'string' && hasOutput && typeof run === 'function';
}

function notWhole(where: string, file: string, kind: string, todo: string): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: `The export ${where} of ${file} is not a complete ${kind}.`,
    todo,
  });
}
