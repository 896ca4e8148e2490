/**
 * The audit after a test with real processes: everything that the database holds is read and held
 * against itself and against what the client was promised. It is for a cluster that has come to rest.
 */
import { expect } from 'vitest';
import type { EventRow } from '../../../src/scheduler/core/index.ts';
import { refKey } from '../../../src/scheduler/store/index.ts';
import type { Store } from '../../../src/scheduler/store/index.ts';
import { checkEndings, checkJobEndings } from '../../sim/checkers/endings.ts';
import { readTables } from '../../sim/checkers/evidence.ts';
import type { StoredEvidence } from '../../sim/checkers/evidence.ts';
import { checkExecutionKeys, checkKeysAtRest } from '../../sim/checkers/keys.ts';
import { replay } from '../../sim/checkers/replay.ts';
import { checkRows } from '../../sim/checkers/rows.ts';
import { checkSchedules } from '../../sim/checkers/schedules.ts';
import { Findings } from '../../sim/findings.ts';
import type { Finding } from '../../sim/findings.ts';

/** Whatever was broken and healed: nothing is lost, nothing was accepted twice, all has ended. */
export async function expectCleanAudit(
  store: Store,
  acknowledged: Iterable<string>,
): Promise<void> {
  const findings = await audit(store, acknowledged);
  expect(findings.map(({ rule, what }) => `${rule}: ${what}`)).toEqual([]);
}

/** `acknowledged` are the ids of the jobs that were acknowledged to a client. */
export async function audit(
  store: Store,
  acknowledged: Iterable<string>,
): Promise<readonly Finding[]> {
  const tables = await readTables(store);
  const findings = new Findings();
  // The log is replayed in one go: rows only say in which of two ways a task waits, and here none does.
  const replayed = replay([{ batch: { events: tables.events, taskUpdates: [] } }]);
  const evidence: StoredEvidence = { tables, replay: replayed, findings };
  checkSequence(evidence);
  checkRows(evidence);
  checkEndings(evidence);
  checkJobEndings(evidence);
  checkExecutionKeys(evidence);
  checkKeysAtRest(evidence);
  checkSchedules(evidence);
  checkDoubles(evidence);
  checkWinners(evidence);
  checkTerms(evidence);
  checkSessions(evidence);
  checkPromises(evidence, acknowledged);
  return findings.list;
}

/** The log has no gap and nothing twice. */
function checkSequence({ tables, findings }: StoredEvidence): void {
  const { events, lastSeq } = tables;
  let before = (events[0]?.seq ?? 1) - 1;
  for (const { seq } of events) {
    if (seq !== before + 1) findings.add('log', `event ${seq} follows ${before}`);
    before = seq;
  }
  if (before !== lastSeq) findings.add('log', `it ends at ${before}, lastSeq is ${lastSeq}`);
}

/** One lease at a time, or two of a straggler on different nodes. */
function checkDoubles({ replay, findings }: StoredEvidence): void {
  for (const { jobNo, taskNo, nodeId, seq } of replay.doubles) {
    const what = `task ${jobNo}/${taskNo} was given to ${nodeId} (event ${seq})`;
    findings.add('two leases', `${what} while others were open`);
  }
}

/** A result is accepted once a run, from the lease that was given last or its duplicate, and it is the one stored. */
function checkWinners({ tables, replay, findings }: StoredEvidence): void {
  const open = new Map<string, Set<number | null>>();
  const winners = new Map<string, EventRow>();
  for (const event of tables.events) {
    if (event.jobNo === null || event.taskNo === null) continue;
    const key = refKey(event.jobNo, event.taskNo);
    if (event.kind === 'assigned') open.set(key, new Set([event.fence]));
    if (event.kind === 'duplicated') open.get(key)?.add(event.fence);
    if (event.kind === 'discarded') open.get(key)?.delete(event.fence);
    if (event.kind !== 'completed') continue;
    const run = `${key}/${event.run}`;
    if (winners.has(run)) findings.add('results', `run ${run} was completed twice`);
    winners.set(run, event);
    // Taken over from the task that had the same execution key, without a lease.
    if (event.nodeId === null) continue;
    const fences = open.get(key);
    if (fences?.has(event.fence) !== true) {
      const what = `run ${run} was completed under fence ${event.fence}`;
      findings.add('results', `${what}, open are ${[...(fences ?? [])].join(' and ')}`);
    }
  }
  for (const [run, { body }] of tables.results) {
    const winner = winners.get(run);
    if (winner === undefined) findings.add('results', `run ${run} has a result, but no success`);
    else checkSignature(run, body, winner, findings);
  }
  for (const { key, run, state } of replay.ends) {
    if (state === 'succeeded' && !winners.has(`${key}/${run}`)) {
      findings.add('results', `run ${key}/${run} succeeded, and nothing completed it`);
    }
  }
}

/** Handlers of the tests sign what they return; then it is known which attempt a result is from. */
function checkSignature(run: string, body: string, winner: EventRow, findings: Findings): void {
  const result = JSON.parse(body) as unknown;
  if (typeof result !== 'object' || result === null || !('signed' in result)) return;
  const { attempt, fence } = result.signed as { attempt?: number; fence?: number };
  if (winner.nodeId === null || (attempt === winner.attempt && fence === winner.fence)) return;
  const what = `run ${run} was won by attempt ${winner.attempt} (fence ${winner.fence})`;
  findings.add('results', `${what}; stored is one of attempt ${attempt} (fence ${fence})`);
}

/** Every leader has an epoch of its own, and they only grow. */
function checkTerms({ tables, findings }: StoredEvidence): void {
  let before = 0;
  for (const { kind, detail } of tables.events) {
    if (kind !== 'leader.elected' || detail === null) continue;
    const { epoch, nodeId } = JSON.parse(detail) as { epoch: number; nodeId: string };
    if (epoch <= before) findings.add('terms', `${nodeId} leads epoch ${epoch} after ${before}`);
    before = epoch;
  }
}

/** Whoever runs a task has a session. */
function checkSessions({ tables, findings }: StoredEvidence): void {
  const sessions = new Set(
    tables.nodes.filter(({ status }) => status === 'healthy').map(({ sessionId }) => sessionId),
  );
  for (const [key, { state, sessionId }] of tables.tasks) {
    if (state !== 'running' || (sessionId !== null && sessions.has(sessionId))) continue;
    findings.add('sessions', `task ${key} is running in session ${sessionId}, which is not alive`);
  }
}

/** What was acknowledged is there, one job a key, and nothing waits outside. */
function checkPromises({ tables, findings }: StoredEvidence, acknowledged: Iterable<string>): void {
  const ids = new Set<string>([...tables.jobs.values()].map(({ id }) => id));
  for (const id of acknowledged) {
    if (!ids.has(id)) findings.add('promises', `job ${id} was acknowledged and is not there`);
  }
  const keys = new Map<string, string>();
  for (const { id, idempotencyKey } of tables.jobs.values()) {
    if (idempotencyKey === null) continue;
    const before = keys.get(idempotencyKey);
    if (before !== undefined) {
      findings.add('idempotency', `key ${idempotencyKey} made job ${before} and job ${id}`);
    }
    keys.set(idempotencyKey, id);
  }
  for (const { no, jobId } of tables.inbox) {
    findings.add('inbox', `row ${no} (job ${jobId}) was never taken`);
  }
}
