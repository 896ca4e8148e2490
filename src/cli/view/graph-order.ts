/** The order in which people read a graph: what comes first above, children below their parent. */
import type { TaskShape } from '../../scheduler/contract/index.ts';

export interface PlacedTask {
  readonly task: TaskShape;
  /** How deep it stands below a task that added it. */
  readonly depth: number;
}

/** Each task stands behind all it depends on; otherwise the order is that of the document. */
export function graphOrder(tasks: readonly TaskShape[]): readonly PlacedTask[] {
  const byId = new Map(tasks.map((task) => [task.id as string, task]));
  const children = new Map<string | null, TaskShape[]>();
  for (const task of tasks) {
    const parent = task.parent !== null && byId.has(task.parent) ? task.parent : null;
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [task]);
    else siblings.push(task);
  }
  const placed: PlacedTask[] = [];
  const open: PlacedTask[] = [];
  const push = (parent: string | null, depth: number): void => {
    const below = children.get(parent) ?? [];
    for (const task of dependencyOrder(below).toReversed()) open.push({ task, depth });
  };
  push(null, 0);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    placed.push(next);
    push(next.task.id, next.depth + 1);
  }
  return placed;
}

/** Depth first over dependencies, without recursion: a chain may be a hundred thousand long. */
function dependencyOrder(tasks: readonly TaskShape[]): readonly TaskShape[] {
  const byId = new Map(tasks.map((task) => [task.id as string, task]));
  const done = new Set<string>();
  const seen = new Set<string>();
  const ordered: TaskShape[] = [];
  for (const first of tasks) {
    const path: { readonly task: TaskShape; at: number }[] = [{ task: first, at: 0 }];
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { task } = top;
      const dependency = task.dependsOn[top.at];
      top.at += 1;
      if (done.has(task.id)) path.pop();
      else if (dependency === undefined) {
        done.add(task.id);
        ordered.push(task);
        path.pop();
      } else {
        const below = byId.get(dependency);
        if (below === undefined || seen.has(dependency)) continue;
        seen.add(dependency);
        path.push({ task: below, at: 0 });
      }
    }
  }
  return ordered;
}
