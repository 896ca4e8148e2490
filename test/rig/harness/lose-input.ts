import { dependencyNumbers } from '../../../src/scheduler/core/index.ts';
import type { Assignment } from '../../../src/scheduler/core/index.ts';
import type { Harness } from '../harness.ts';
import type { ScriptedNode } from './scripted-node.ts';

/** The task does not find what it depends on, or says so of what was recomputed since. */
export function loseInput(
  world: Harness,
  node: ScriptedNode,
  task: Assignment,
  dice: number,
): void {
  const tasks = world.rows.jobs.get(task.lease.jobNo)?.tasks ?? [];
  const edges = tasks[task.lease.taskNo]?.spec.dependsOn ?? [];
  const named = dependencyNumbers(edges).map((no) => {
    const producer = tasks[no];
    const fence = producer?.row.fence ?? 0;
    return [producer?.spec.id ?? '', dice % 5 === 0 ? fence - 1 : fence] as const;
  });
  node.loseInput(task, Object.fromEntries(named.slice(0, 1 + (dice % 3))));
}
