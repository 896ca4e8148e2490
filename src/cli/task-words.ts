/** One task in words. */
import type { Json } from '../scheduler/core/index.ts';
import type { AttemptShape, TaskDetail } from '../scheduler/contract/index.ts';
import { shortened } from './wording.ts';

const WIDTH = 200;

export function taskLines(task: TaskDetail): string[] {
  const { id, state, executor, attempt, run, node, lease, steps, error, waiting } = task;
  const lines = [
    `task ${id}: ${state}`,
    `executor   ${executor}`,
    `attempt    ${attempt} of run ${run}${node === null ? '' : ` on ${node}`}`,
    `input      ${json(inputOf(task))}`,
    `placement  ${task.placement === null ? 'any node' : json(task.placement)}`,
  ];
  if (waiting !== null) lines.push(`waiting    ${waiting}`);
  lines.push(...steps.map(({ name, result }) => `step       ${name}: ${json(result)}`));
  if (task.result !== null) lines.push(`result     ${json(task.result)}`);
  if (error !== null) lines.push(`error      ${error.code}: ${error.message}`);
  if (task.attempts.length > 1) lines.push(...task.attempts.map(attemptLine));
  if (lease !== null) {
    const { since, expiresAt } = lease;
    const times = since === null ? '' : `, since ${since}, expires ${expiresAt}`;
    lines.push(
      `lease      node ${lease.node}, attempt ${lease.attempt}, fence ${lease.fence}${times}`,
    );
  }
  return lines;
}

function attemptLine(each: AttemptShape): string {
  const { attempt, run, node, started, finished, outcome, error, speculative } = each;
  const times = `${started ?? '?'} to ${finished ?? 'now'}`;
  const how =
    error === null ? (outcome ?? 'running') : `${outcome}: ${error.code}: ${error.message}`;
  const which = speculative ? 'second attempt beside' : 'attempt';
  const where = `${which} ${attempt} of run ${run} on ${node ?? '?'}`;
  return `  ${where}, ${times}, ${shortened(how, WIDTH)}`;
}

/** As the handler gets it, if that is known yet. */
function inputOf({ input, resolvedInput }: TaskDetail): Json {
  return resolvedInput ?? input;
}

function json(value: Json): string {
  return shortened(JSON.stringify(value), WIDTH);
}
