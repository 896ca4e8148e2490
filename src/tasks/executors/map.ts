/**
 * `map` takes `{items, task: {executor, ...}, with?, concurrency?}` and runs the task once for each item, as
 * children of its own: the item is the child's input. Its result is the list of theirs, in order.
 */
import { asLiteral, isObject } from '../../scheduler/core/index.ts';
import type { Json, JsonObject } from '../../scheduler/core/index.ts';
import type { Executor, Mappable } from './executor.ts';
import { Fields } from './fields.ts';

/** The leader checks what they hold, as it does for any task. */
const TASK_FIELDS = [
  'executor',
  'retry',
  'timeouts',
  'placement',
  'concurrency',
  'limits',
  'priority',
];
const CONCURRENCY_MAX = 1_000_000;

export const mapExecutor: Executor = {
  name: 'map',
  run(input, context) {
    const fields = new Fields(input, ['items', 'task', 'with', 'concurrency']);
    const items = fields.list('items') ?? fields.refuse('items', 'Must be a list.');
    const task = fields.within('task', TASK_FIELDS);
    const executor = task?.id('executor') ?? fields.refuse('task', 'This field is required.');
    const concurrency = fields.whole('concurrency', 1, CONCURRENCY_MAX);
    const options = concurrency === undefined ? {} : { concurrency };
    const shared = fields.value('with');
    if (shared !== undefined) checkShared(fields, shared, items);
    const each = shared === undefined ? items : items.map((item) => joined(shared, item));
    return context.map('item', mappable(executor, fields.value('task')), each, options);
  },
};

function checkShared(fields: Fields, shared: Json, items: readonly Json[]): void {
  if (!isObject(shared)) fields.refuse('with', 'Must be an object.');
  const at = items.findIndex((item) => !isObject(item));
  if (at >= 0) fields.refuse(`items/${at}`, 'Each item must be an object if `with` is given.');
}

function joined(shared: Json, item: Json): Json {
  return { ...(shared as JsonObject), ...(item as JsonObject) };
}

function mappable(name: string, task: Json | undefined): Mappable<Json, Json> {
  return {
    name,
    toTask: (item) => ({ ...(task as JsonObject), input: asLiteral(item) }),
    readResult: (result) => result,
  };
}
