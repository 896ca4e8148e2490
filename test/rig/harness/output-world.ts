/** A job whose tasks leave what they make on three nodes. */
import type { Assignment, Settings, TaskOptions } from '../../../src/scheduler/core/index.ts';
import { Harness, echo } from '../harness.ts';
import type { ScriptedNode } from './scripted-node.ts';

type Output = NonNullable<TaskOptions['output']>;

/** Two makers, a reader of both, and a last task that reads the reader. */
export const OUTPUT_GRAPH: readonly object[] = [
  echo('a'),
  echo('b'),
  echo('c', { dependsOn: ['a', 'b'] }),
  echo('d', { dependsOn: ['c'] }),
];

export interface OutputWorld {
  readonly world: Harness;
  readonly one: ScriptedNode;
  readonly two: ScriptedNode;
  readonly three: ScriptedNode;
}

export function outputWorld(
  outputs: Readonly<Record<string, Output>> = {
    a: 'deterministic',
    b: 'deterministic',
    c: 'deterministic',
    d: 'deterministic',
  },
  more: { readonly tasks?: readonly object[]; readonly settings?: Partial<Settings> } = {},
): OutputWorld {
  const world = new Harness({ settings: more.settings ?? {} });
  const own = Object.fromEntries(Object.entries(outputs).map(([id, output]) => [id, { output }]));
  const [one, two, three] = [world.node('w1'), world.node('w2'), world.node('w3')] as const;
  world.submit({ name: 'job', tasks: more.tasks ?? OUTPUT_GRAPH }, { own });
  return { world, one, two, three };
}

export function take(node: ScriptedNode): Assignment {
  const [task] = node.poll();
  if (task === undefined) throw new Error(`there is nothing for ${node.id}`);
  return task;
}

/** Takes the next task and ends it well. */
export function make(node: ScriptedNode): Assignment {
  const task = take(node);
  const verdict = node.complete(task, task.taskId);
  if (verdict !== 'ok') throw new Error(`${task.taskId} was ${verdict}`);
  return task;
}
