/** Boxes and lines of a job's graph, with fan-outs folded. */
import type { TaskShape } from '../../../src/scheduler/contract/index.ts';
import { type TaskGroup, grouped } from './groups.ts';

export type GraphNode =
  | { readonly id: string; readonly kind: 'task'; readonly task: TaskShape }
  | { readonly id: string; readonly kind: 'group'; readonly group: TaskGroup };

export interface GraphShape {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly (readonly [string, string])[];
}

export function graphShape(tasks: readonly TaskShape[], open: ReadonlySet<string>): GraphShape {
  const nodes: GraphNode[] = [];
  /** The box in which a task is drawn. */
  const boxOf = new Map<string, string>();
  for (const item of grouped(tasks, open)) {
    if (item.kind === 'task') {
      nodes.push({ id: item.task.id, kind: 'task', task: item.task });
      boxOf.set(item.task.id, item.task.id);
    } else if (!open.has(item.group.id)) {
      const id = `group ${item.group.id}`;
      nodes.push({ id, kind: 'group', group: item.group });
      for (const task of item.group.tasks) boxOf.set(task.id, id);
    }
  }
  const edges = new Map<string, readonly [string, string]>();
  const connect = (from: string, to: string): void => {
    const [a, b] = [boxOf.get(from), boxOf.get(to)];
    if (a !== undefined && b !== undefined && a !== b) edges.set(`${a}\n${b}`, [a, b]);
  };
  for (const task of tasks) {
    for (const each of task.dependsOn) connect(each, task.id);
    if (task.parent !== null) connect(task.parent, task.id);
  }
  return { nodes, edges: [...edges.values()] };
}
