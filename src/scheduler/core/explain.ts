/** "Why is this task waiting?" as a function of the state. */
import { momentText } from './document/moment.ts';
import type { Instant, JobId, NodeId, TaskId } from './ids.ts';
import type { Job } from './job/job.ts';
import { awaitedEvent, unfitBefore } from './job/waits.ts';
import type { AwaitedJob } from './job/waits.ts';
import { type Need, lacks, needs } from './node/capability.ts';
import type { Node } from './node/node.ts';
import type { Limit } from './queue/limit.ts';
import { pausedText } from './queue/pause.ts';
import type { Requirement } from './queue/requirement.ts';
import type { SchedulerState } from './state.ts';
import { pauseOf } from './steps/pauses.ts';
import { isTerminal } from './task/chart.ts';
import type { TaskState } from './task/chart.ts';
import type { Slot } from './task/table.ts';

export type WaitCode =
  | 'dependencies'
  | 'children'
  | 'execution_key'
  | 'batch'
  | 'admission'
  | 'run_at'
  | 'back_off'
  | 'sleep'
  | 'signal'
  | 'child_job'
  | 'no_node_fits'
  | 'no_node_free'
  | 'nodes_unavailable'
  | 'job_limit'
  | 'concurrency_key'
  | 'rate_limit'
  | 'paused'
  | 'limit_per_node'
  | 'alone'
  | 'being_stopped'
  | 'running'
  | 'ended';

export interface Explanation {
  readonly jobId: JobId;
  readonly taskId: TaskId;
  readonly state: TaskState;
  readonly code: WaitCode;
  /** A sentence for people. */
  readonly why: string;
  /** How long it has been ready, for tasks that are. */
  readonly ageMs: number | null;
  /** For `no_node_fits`: the nodes that come nearest. */
  readonly nearest: readonly NearNode[];
  /** For `admission`: how many are before it. */
  readonly position?: number;
}

export interface NearNode {
  readonly nodeId: NodeId;
  readonly lacks: readonly string[];
  /** Everything that the task asks for, met or not: the same list for every node. */
  readonly needs: readonly Need[];
}

/** Null when the task is not in memory: its job has ended, or there is none. */
export function explain(
  state: SchedulerState,
  jobId: JobId,
  taskId: TaskId,
  now: Instant,
): Explanation | null {
  const job = state.jobsById.get(jobId);
  const no = job?.taskNo(taskId, state.tasks) ?? null;
  const slot = job === undefined || no === null ? null : job.slot(no);
  if (job === undefined || slot === null) return null;
  const { tasks } = state;
  const task = tasks.state(slot);
  const ageMs = task === 'ready' ? now - tasks.queuedAt.get(slot) : null;
  const base = { jobId, taskId, state: task, ageMs, nearest: [] };
  return { ...base, ...reason(state, job, slot, now) };
}

type Reason = Pick<Explanation, 'code' | 'why'> &
  Partial<Pick<Explanation, 'nearest' | 'position'>>;

function reason(state: SchedulerState, job: Job, slot: Slot, now: Instant): Reason {
  const { tasks } = state;
  switch (tasks.state(slot)) {
    case 'blocked':
      return blockedBy(state, job, slot);
    case 'delayed': {
      const inMs = Math.max(0, tasks.notBefore.get(slot) - now);
      if (tasks.suspended(slot) === 'time') return { code: 'sleep', why: `sleeps for ${inMs} ms` };
      const awaited = awaits(state, slot);
      if (awaited !== null) return { ...awaited, why: `${awaited.why} for another ${inMs} ms` };
      if (tasks.notBefore.get(slot) === job.runAt) {
        return { code: 'run_at', why: `starts at ${momentText(job.runAt)}` };
      }
      const error = tasks.error(slot);
      return {
        code: 'back_off',
        why: `runs again in ${inMs} ms, after ${error?.code ?? 'a loss'}`,
      };
    }
    case 'running': {
      const lease = state.leases.get(slot);
      if (lease?.stopping === 'cancel' || lease?.stopping === 'timeout') {
        return { code: 'being_stopped', why: `node ${lease.node.id} has been asked to stop it` };
      }
      const second = state.duplicates.get(slot);
      const beside = second === undefined ? '' : ` and, as it takes so long, on ${second.node.id}`;
      return { code: 'running', why: `runs on node ${lease?.node.id ?? '?'}${beside}` };
    }
    case 'ready':
      return queuedBecause(state, job, slot);
    case 'succeeded':
      return { code: 'ended', why: 'it has succeeded' };
    case 'failed':
      return { code: 'ended', why: `it has failed: ${tasks.error(slot)?.message ?? '-'}` };
    case 'cancelled':
    case 'skipped': {
      const error = tasks.error(slot);
      const because = error === null ? '' : `: ${error.message}`;
      return { code: 'ended', why: `it was ${tasks.state(slot)}${because}` };
    }
  }
}

function blockedBy(state: SchedulerState, job: Job, slot: Slot): Reason {
  const { tasks } = state;
  if (tasks.suspended(slot) === 'children') {
    return { code: 'children', why: `waits for ${tasks.openChildren(slot)} of its children` };
  }
  const awaited = awaits(state, slot);
  if (awaited !== null) return awaited;
  const key = tasks.key(slot);
  if (key?.waiters.has(slot) === true) {
    const first = job.options.batchOf;
    if (first !== null) return { code: 'batch', why: `is executed with the batch of job ${first}` };
    return { code: 'execution_key', why: `waits for the running task with key ${key.scope}` };
  }
  if (tasks.options(slot).admission !== undefined) return notLetIn(state, job);
  if (state.undecided.has(slot)) {
    return { code: 'dependencies', why: 'waits for the leader, which reads what it depends on' };
  }
  const open: string[] = [];
  for (const other of job.slots) {
    if (isTerminal(tasks.state(other))) continue;
    job.edges?.eachDependent(tasks.no(other), (no) => {
      if (no === tasks.no(slot)) open.push(tasks.id(other));
    });
  }
  return { code: 'dependencies', why: `waits for ${shown(open, ', ')}` };
}

/** Who is before it, and what holds up the first of them. */
function notLetIn({ admissions, settings, isComplete }: SchedulerState, job: Job): Reason {
  const position = admissions.position(job) ?? 0;
  const { maxQueries, queryMemoryBytes } = settings;
  const count = position === 1 ? '1 query is' : `${position} queries are`;
  const before = position === 0 ? 'it is the next' : `${count} before it`;
  const isFull = admissions.running >= maxQueries;
  const runs = isFull
    ? `${admissions.running} of ${maxQueries} run`
    : `the ${admissions.running} that run hold ${admissions.heldBytes} of ${queryMemoryBytes} bytes`;
  const why = isComplete ? runs : 'the leader is still loading its jobs';
  return { code: 'admission', why: `waits for admission: ${before}, ${why}`, position };
}

/** Of a suspended task: the signals or jobs that it waits for. */
function awaits(state: SchedulerState, slot: Slot): Reason | null {
  const { tasks } = state;
  const waits = tasks.waits(slot);
  const suspended = tasks.suspended(slot);
  if (waits === null || (suspended !== 'signal' && suspended !== 'job')) return null;
  const names = waits.signals.map(({ name }) => name);
  const events = names.flatMap((name) => awaitedEvent(name) ?? []);
  const sent = names.filter((name) => awaitedEvent(name) === null);
  const signals = [
    ...(sent.length === 0 ? [] : [`signal ${shown(sent, ' or ')}`]),
    ...(events.length === 0 ? [] : [`event ${shown(events, ' or ')}`]),
  ].join(' or ');
  if (suspended === 'signal') {
    return { code: 'signal', why: `waits for ${signals}${inVain(state, slot)}` };
  }
  const jobs = `job ${shown(
    waits.jobs.map(({ jobId }) => jobId),
    ' or ',
  )}`;
  const all = signals === '' ? jobs : `${jobs} or ${signals}`;
  const stuck = stuckCall(state, waits.jobs, { looks: LOOKS_MAX });
  if (stuck === null) return { code: 'child_job', why: `waits for ${all}` };
  const { jobId, taskId, why, nearest } = stuck;
  return {
    code: 'child_job',
    why: `waits for ${all}, whose task ${jobId}/${taskId} cannot run: ${why}`,
    nearest,
  };
}

/** Signals that came and did not end the wait: perhaps a mistyped name or answer. */
function inVain({ tasks }: SchedulerState, slot: Slot): string {
  const unfit = tasks.waits(slot)?.signals.filter(({ step }) => unfitBefore(step) > 0) ?? [];
  const counts = unfit.map(({ step, name }) => `${unfitBefore(step)} of ${name}`);
  const { untaken } = tasks.job(slot).signals;
  return [
    counts.length === 0
      ? ''
      : `; ignored because they do not match the schema: ${shown(counts, ', ')}`,
    untaken.length === 0 ? '' : `; received but not awaited: ${shown(untaken, ', ')}`,
  ].join('');
}

type Stuck = Pick<Explanation, 'jobId' | 'taskId' | 'why' | 'nearest'>;

/** The limit on tasks of called jobs that are examined, so that a call does not hold the leader up. */
const LOOKS_MAX = 1_000;

/** The first task of the called jobs, or of those that they call, that no node can run. */
function stuckCall(
  state: SchedulerState,
  calls: readonly AwaitedJob[],
  budget: { looks: number },
): Stuck | null {
  const { tasks } = state;
  for (const { jobId } of calls.slice(0, SHOWN_MAX)) {
    const job = state.jobsById.get(jobId);
    for (const slot of job?.slots ?? []) {
      budget.looks -= 1;
      if (budget.looks < 0) return null;
      if (tasks.state(slot) === 'ready') {
        if (state.matching.nodesThatMeet(tasks.requirement(slot)).length > 0) continue;
        const { why, nearest = [] } = noNodeFits(state, slot);
        return { jobId, taskId: tasks.id(slot), why, nearest };
      }
      const inner = tasks.suspended(slot) === 'job' ? (tasks.waits(slot)?.jobs ?? []) : [];
      const found = inner.length === 0 ? null : stuckCall(state, inner, budget);
      if (found !== null) return found;
    }
  }
  return null;
}

function queuedBecause(state: SchedulerState, job: Job, slot: Slot): Reason {
  const { tasks } = state;
  const requirement = tasks.requirement(slot);
  const pause = pauseOf(state, slot);
  if (pause !== null) return { code: 'paused', why: pausedText(pause) };
  const able = state.matching.nodesThatMeet(requirement);
  if (able.length === 0) return noNodeFits(state, slot);
  if (job.atLimit) {
    return { code: 'job_limit', why: `its job runs ${job.assigned} of ${job.maxParallel} tasks` };
  }
  const limit = state.queue.fullLimit(slot);
  if (limit !== null) return limitedBy(limit);
  const serving = able.filter((node) => node.group?.requirements.has(requirement) === true);
  if (serving.length > 0) {
    const [fit, busy] = serving.length === 1 ? ['node fits', 'is'] : ['nodes fit', 'are'];
    const rest = able.filter((node) => !serving.includes(node));
    const others = rest.map((node) => `; ${unavailable(state, node, requirement)}`);
    const why = `${serving.length} ${fit} but ${busy} busy${shown(others, '')}`;
    return { code: 'no_node_free', why };
  }
  if (requirement.restriction.isAlone) return alone(state, slot);
  const max = requirement.placement.maxParallelPerNode;
  if (max !== null && able.every((node) => (node.heldBy.get(requirement.kin) ?? 0) >= max)) {
    return { code: 'limit_per_node', why: `each node that fits runs ${max} of these already` };
  }
  const fit = able.length === 1 ? 'node fits' : 'nodes fit';
  const each = shown(
    able.map((node) => unavailable(state, node, requirement)),
    '; ',
  );
  return { code: 'nodes_unavailable', why: `${able.length} ${fit}, but: ${each}` };
}

function limitedBy({ key, max, perMs, held, started, freeAt }: Limit): Reason {
  if (perMs === null) {
    return { code: 'concurrency_key', why: `concurrency key ${key} runs ${held} of ${max}` };
  }
  const until = freeAt === null ? '' : `; the next may start at ${momentText(freeAt)}`;
  const why = `rate limit ${key} has started ${started} of ${max} in ${perMs} ms${until}`;
  return { code: 'rate_limit', why };
}

/** It was held by sessions that were lost, so it must not share a node with others. */
function alone(state: SchedulerState, slot: Slot): Reason {
  const requirement = state.tasks.requirement(slot);
  const node = [...state.matching.cleared].find(({ clearedFor }) => clearedFor === requirement);
  const times = state.tasks.exposures(slot);
  const since = `runs alone because ${times} ${times === 1 ? 'node was' : 'nodes were'} lost while running it`;
  if (node === undefined) return { code: 'alone', why: `${since}, and no node is empty` };
  const { size } = node.leases;
  const tasks = size === 1 ? '1 task' : `${size} tasks`;
  return { code: 'alone', why: `${since}; node ${node.id} is being drained for it, ${tasks} left` };
}

function unavailable(state: SchedulerState, node: Node, requirement: Requirement): string {
  if (node.draining) return `${node.id} is draining`;
  if (node.holdsAlone > 0) {
    const { first } = node.leases;
    const name = first === null ? 'a task' : `task ${state.tasks.id(first.slot)}`;
    return `${node.id} runs ${name} alone`;
  }
  if (node.clearedFor !== null) return `${node.id} is being drained for a task that runs alone`;
  const held = node.heldBy.get(requirement.kin) ?? 0;
  if (held > 0) return `${node.id} runs ${held} of these already`;
  if (node.quarantinedUntil !== null) return `${node.id} is in quarantine`;
  if (requirement.isBulk && node.pressure !== null)
    return `${node.id} is short of ${node.pressure}`;
  if (requirement.restriction.avoids === node.id) return `it has failed on ${node.id}`;
  return `${node.id} reported a missing executor`;
}

/** The nearest nodes are those that lack least. */
function noNodeFits(state: SchedulerState, slot: Slot): Reason {
  const requirement = state.tasks.requirement(slot);
  const nearest = [...state.nodes.values()]
    // A server without slots executes nothing.
    .filter((node) => node.status === 'healthy' && node.executors.size > 0)
    .map((node) => {
      const { placement, executor } = requirement;
      const { id: nodeId, executors } = node;
      const candidate = { id: nodeId, executors, capabilities: node.offer.capabilities };
      const missing = lacks(placement, executor, candidate);
      return { nodeId, lacks: missing, needs: needs(placement, executor, candidate) };
    })
    .toSorted((a, b) => a.lacks.length - b.lacks.length)
    .slice(0, NEAREST_MAX);
  const [first] = nearest;
  if (first === undefined) return { code: 'no_node_fits', why: 'no node is registered' };
  const why = `no node fits; the nearest, ${first.nodeId}, lacks ${first.lacks.join(', ')}`;
  return { code: 'no_node_fits', why, nearest };
}

/** Not more than a reader takes in. */
function shown(list: readonly string[], separator: string): string {
  return [...list.slice(0, SHOWN_MAX), ...(list.length > SHOWN_MAX ? ['...'] : [])].join(separator);
}

const SHOWN_MAX = 5;
const NEAREST_MAX = 6;
