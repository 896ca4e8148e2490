/** One task in words. */
import type { Json } from '../scheduler/core/index.ts';
import type { TaskDetail } from '../scheduler/contract/index.ts';
import { shortened } from './wording.ts';

const WIDTH = 200;

export function taskLines(task: TaskDetail): string[] {
  const { id, state, executor, attempt, run, node, lease, steps, error, waiting } = task;
  const lines = [
    `task ${id}: ${state}`,
    `executor   ${executor}`,
    `attempt    ${attempt} of run ${run}${node === null ? '' : ` on ${node}`}`,
    `input      ${json(task.input)}`,
    `placement  ${task.placement === null ? 'any node' : json(task.placement)}`,
  ];
  if (waiting !== null) lines.push(`waiting    ${waiting}`);
  if (steps.length > 0) lines.push(`steps      ${steps.map(({ name }) => name).join(', ')}`);
  if (error !== null) lines.push(`error      ${error.code}: ${error.message}`);
  if (lease !== null) {
    const { since, expiresAt } = lease;
    const times = since === null ? '' : `, since ${since}, expires ${expiresAt}`;
    lines.push(
      `lease      node ${lease.node}, attempt ${lease.attempt}, fence ${lease.fence}${times}`,
    );
  }
  return lines;
}

function json(value: Json): string {
  return shortened(JSON.stringify(value), WIDTH);
}
