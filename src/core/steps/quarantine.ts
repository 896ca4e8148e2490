/**
 * A node on which tasks of several jobs fail is taken out of the choice for a while. Then it is on
 * probation: one more failure sends it back, one success clears it.
 */
import { later } from '../ids.ts';
import type { Instant } from '../ids.ts';
import type { Job } from '../job/job.ts';
import type { Node } from '../node/node.ts';
import type { Turn } from '../turn.ts';

/** A failure that may be the node's fault. User errors are fatal ones and never come here. */
export function blame(turn: Turn, node: Node, job: Job): void {
  const { settings, nodes } = turn.state;
  if (nodes.get(node.id) !== node || node.quarantinedUntil !== null) return;
  const { failures } = node;
  failures.push({ at: turn.now, jobNo: job.no });
  forgetSome(node, job, later(turn.now, -settings.quarantineWindowMs), settings.quarantineFailures);
  const jobs = new Set(failures.map((failure) => failure.jobNo));
  const enough =
    failures.length >= settings.quarantineFailures && jobs.size >= settings.quarantineJobs;
  if (!enough && !node.onProbation) return;
  node.quarantinedUntil = later(turn.now, settings.quarantineMs);
  node.onProbation = false;
  turn.state.matching.update(node);
  turn.writeNode(node);
  turn.log(
    'node.quarantined',
    { nodeId: node.id },
    {
      failures: failures.length,
      jobs: jobs.size,
      until: node.quarantinedUntil,
    },
  );
  armQuarantineEnd(turn, node);
}

/** Those out of the window; and of one job no more than are needed, since alone it cannot bring a
 * node into quarantine however often it fails. */
function forgetSome(node: Node, job: Job, since: Instant, perJobMax: number): void {
  const { failures } = node;
  while (failures[0] !== undefined && failures[0].at < since) failures.shift();
  const ofJob = failures.filter((failure) => failure.jobNo === job.no);
  const [oldest] = ofJob;
  if (ofJob.length > perJobMax && oldest) failures.splice(failures.indexOf(oldest), 1);
}

export function armQuarantineEnd(turn: Turn, node: Node): void {
  if (node.quarantinedUntil === null) return;
  turn.state.timers.arm({ type: 'quarantine', at: node.quarantinedUntil, nodeId: node.id });
}

/** By time or by hand. */
export function endQuarantine(turn: Turn, node: Node, onProbation: boolean): void {
  if (node.quarantinedUntil === null) return;
  node.quarantinedUntil = null;
  node.onProbation = onProbation;
  node.failures.length = 0;
  turn.state.matching.update(node);
  turn.writeNode(node);
  turn.log('node.released', { nodeId: node.id }, { onProbation });
}
