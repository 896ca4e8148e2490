/**
 * A node on which tasks of several jobs fail becomes the last choice for a while: it is given work that nobody
 * else can run, and one task at a time when all others are full. A success there ends it. When its time is over
 * it is on probation: one more failure brings it back.
 *
 * A failure is the task's and not the node's when the task fails on another node as well, or when it succeeds
 * later. Only a node on which nothing at all succeeds keeps such failures on its record.
 */
import { later } from '../ids.ts';
import type { Instant, JobNo, TaskNo } from '../ids.ts';
import type { Node } from '../node/node.ts';
import type { Lease } from '../task/lease.ts';
import type { StepContext } from '../step-context.ts';

/** A node with this many times as many failures in a row, without a success, is at fault whatever became of its tasks
 * elsewhere. */
const HOPELESS_TIMES = 2;
/** This part of the quarantine passes before a node that failed meanwhile is tried again. */
const TRY_AGAIN_PART = 10;

/** A failure that may be the node's fault. User errors are fatal ones and never come here. */
export function blame(context: StepContext, { node, slot, job, taskNo }: Lease): void {
  const { settings, nodes, tasks } = context.state;
  if (nodes.get(node.id) !== node) return;
  const before = tasks.failedOn(slot);
  tasks.setFailedOn(slot, [...before.filter((id) => id !== node.id), node.id]);
  if (before.some((id) => id !== node.id)) return clearRecords(context, slot, job.no, taskNo);
  node.failedInRow += 1;
  if (node.quarantinedUntil !== null) {
    node.triedAgainAt = later(context.now, Math.ceil(settings.quarantineMs / TRY_AGAIN_PART));
    return;
  }
  node.failures.push({ at: context.now, jobNo: job.no, taskNo });
  forgetSome(
    node,
    job.no,
    later(context.now, -settings.quarantineWindowMs),
    settings.quarantineFailures,
  );
  if (isEnough(context, node) || node.onProbation) beginQuarantine(context, node);
}

function isEnough({ state: { settings } }: StepContext, { failures }: Node): boolean {
  const jobs = new Set(failures.map(({ jobNo }) => jobNo));
  return failures.length >= settings.quarantineFailures && jobs.size >= settings.quarantineJobs;
}

function beginQuarantine(context: StepContext, node: Node): void {
  const { failures } = node;
  node.quarantinedUntil = later(context.now, context.state.settings.quarantineMs);
  node.onProbation = false;
  context.state.matching.update(node);
  context.writeNode(node);
  const jobs = new Set(failures.map(({ jobNo }) => jobNo)).size;
  const detail = { failures: failures.length, jobs, until: node.quarantinedUntil };
  context.log('node.quarantined', node.id, detail);
  armQuarantineEnd(context, node);
}

/** The lease ends with a success: its node can do its work, and earlier failures were the task's own. */
export function exonerate(context: StepContext, { node, slot, job, taskNo }: Lease): void {
  node.failedInRow = 0;
  node.onProbation = false;
  if (node.failures.length > 0) node.failures.length = 0;
  endQuarantine(context, node, false);
  if (context.state.tasks.failedOn(slot).length > 0) clearRecords(context, slot, job.no, taskNo);
}

/** What the task did on any node was its own fault. */
function clearRecords(
  context: StepContext,
  slot: Lease['slot'],
  jobNo: JobNo,
  taskNo: TaskNo,
): void {
  const { state } = context;
  for (const id of state.tasks.failedOn(slot)) {
    const node = state.nodes.get(id);
    if (node === undefined || isHopeless(context, node)) continue;
    const kept = node.failures.filter((each) => each.jobNo !== jobNo || each.taskNo !== taskNo);
    if (kept.length === node.failures.length) continue;
    node.failures.splice(0, node.failures.length, ...kept);
    if (node.quarantinedUntil !== null && !isEnough(context, node))
      endQuarantine(context, node, false, kept);
  }
}

function isHopeless({ state: { settings } }: StepContext, { failedInRow }: Node): boolean {
  return failedInRow >= settings.quarantineFailures * HOPELESS_TIMES;
}

/** Those out of the window; and of one job no more than are needed, since alone it cannot bring a
 * node into quarantine however often it fails. */
function forgetSome(node: Node, jobNo: JobNo, since: Instant, perJobMax: number): void {
  const { failures } = node;
  while (failures[0] !== undefined && failures[0].at < since) failures.shift();
  const ofJob = failures.filter((failure) => failure.jobNo === jobNo);
  const [oldest] = ofJob;
  if (ofJob.length > perJobMax && oldest) failures.splice(failures.indexOf(oldest), 1);
}

export function armQuarantineEnd(context: StepContext, node: Node): void {
  if (node.quarantinedUntil === null) return;
  context.state.timers.arm({ type: 'quarantine', at: node.quarantinedUntil, nodeId: node.id });
}

/** By time, by hand, by a success, or because what was held against it was not its fault. */
export function endQuarantine(
  context: StepContext,
  node: Node,
  onProbation: boolean,
  failures: Node['failures'] = [],
): void {
  if (node.quarantinedUntil === null) return;
  node.quarantinedUntil = null;
  node.onProbation = onProbation;
  node.failures.splice(0, node.failures.length, ...failures);
  context.state.matching.update(node);
  context.writeNode(node);
  context.log('node.released', node.id, { onProbation });
}
