/** What must hold of the core after every step: of itself, and against the rows that it has written. */
import {
  auditState,
  dependencyNumbers,
  isFinished,
  isTerminal,
} from '../../../src/scheduler/core/index.ts';
import type { LogKind, SchedulerState } from '../../../src/scheduler/core/index.ts';
import type { DurableRows } from './durable-rows.ts';

type Slot = Parameters<SchedulerState['tasks']['state']>[0];
type Job = ReturnType<SchedulerState['tasks']['job']>;
type Node = NonNullable<ReturnType<SchedulerState['nodes']['get']>>;

export function checkInvariants(state: SchedulerState, rows: DurableRows): void {
  auditState(state);
  for (const job of state.jobs.values()) checkJob(state, job, rows);
  checkPacked(state, rows);
  expectSame('the log', state.lastSeq, rows.lastSeq);
  checkNodes(state, rows);
}

function checkJob(state: SchedulerState, job: Job, rows: DurableRows): void {
  const durable = rows.jobs.get(job.no);
  const name = `job ${job.id}`;
  expectSame(`${name}: state`, job.state, durable?.row.state);
  expectSame(`${name}: stopping`, job.stopping, durable?.row.stopping);
  expectSame(`${name}: run`, job.run, durable?.row.run);
  expectSame(`${name}: tasks`, job.slots.length, durable?.row.taskCount);
  expectSame(`${name}: rows`, job.slots.length, durable?.tasks.length);
  for (const slot of job.slots) checkTask(state, slot, rows);
}

/** Nothing has happened to them but that they were queued. */
function checkPacked({ jobs: { packed } }: SchedulerState, rows: DurableRows): void {
  for (const line of packed.lines) {
    for (const entry of packed.entries(line)) {
      const durable = rows.jobs.get(packed.jobNo(entry));
      const name = `packed job ${packed.idOf(entry)}`;
      expectSame(`${name}: id`, durable?.row.id, packed.idOf(entry));
      expectSame(`${name}: state`, durable?.row.state, 'queued');
      expectSame(`${name}: tasks`, durable?.tasks.length, 1);
      const row = durable?.tasks[0]?.row;
      expectSame(`${name}: its task`, row?.state, 'ready');
      expectSame(`${name}: attempts`, row?.attempt, 0);
      expectSame(`${name}: queued`, row?.queuedAt, packed.queuedAt(entry));
    }
  }
}

function checkTask(state: SchedulerState, slot: Slot, rows: DurableRows): void {
  const { tasks, leases } = state;
  const name = `task ${tasks.job(slot).id}/${tasks.id(slot)}`;
  const lease = leases.get(slot);
  const row = rows.jobs.get(tasks.job(slot).no)?.tasks[tasks.no(slot)]?.row;
  expectSame(`${name}: state`, tasks.state(slot), row?.state);
  expectSame(`${name}: run`, tasks.run.get(slot), row?.run);
  expectSame(`${name}: attempt`, tasks.attempt.get(slot), row?.attempt);
  expectSame(`${name}: failures`, tasks.failures.get(slot), row?.failures);
  expectSame(`${name}: losses`, tasks.losses.get(slot), row?.losses);
  expectSame(`${name}: fence`, tasks.fence.get(slot), row?.fence);
  expectSame(`${name}: term`, tasks.term(slot), row?.term);
  expectSame(`${name}: suspended`, tasks.suspended(slot), row?.suspended);
  expectSame(`${name}: waits`, encoded(tasks.waits(slot)), row?.waits);
  expectSame(`${name}: progress`, tasks.progress.get(slot), row?.progress);
  expectSame(`${name}: error`, tasks.error(slot)?.code, row?.error?.code);
  expectSame(`${name}: session`, lease?.sessionId ?? null, row?.sessionId);
  expectSame(`${name}: stopping`, lease?.stopping ?? null, row?.stopping);
  expectSame(`${name}: started`, tasks.startedAt.get(slot), row?.startedAt ?? 0);
  expectSame(`${name}: queued`, tasks.queuedAt.get(slot), row?.queuedAt ?? 0);
  if (tasks.state(slot) === 'blocked') checkBlocked(state, slot, rows);
  if (tasks.job(slot).outputs !== null) checkCounted(state, slot, rows);
}

/** Where outputs may get lost, whoever has not ended knows what of it is open: it may have to wait again. */
function checkCounted(state: SchedulerState, slot: Slot, rows: DurableRows): void {
  const { tasks } = state;
  const name = `task ${tasks.job(slot).id}/${tasks.id(slot)}`;
  if (isTerminal(tasks.state(slot))) return;
  const open = openDependencies(state, slot, rows);
  expectSame(`${name}: open dependencies`, tasks.unmet.get(slot), open);
  if (tasks.state(slot) === 'ready') expectSame(`${name}: is ready for good`, open, 0);
}

function openDependencies(state: SchedulerState, slot: Slot, rows: DurableRows): number {
  const { tasks } = state;
  const job = tasks.job(slot);
  const spec = rows.jobs.get(job.no)?.tasks[tasks.no(slot)]?.spec;
  return dependencyNumbers(spec?.dependsOn ?? []).filter((no) => {
    const dependency = job.slots[no];
    return dependency !== undefined && !isTerminal(tasks.state(dependency));
  }).length;
}

/** What is blocked has something to wait for, and it is counted right. */
function checkBlocked(state: SchedulerState, slot: Slot, rows: DurableRows): void {
  const { tasks } = state;
  const job = tasks.job(slot);
  const name = `task ${job.id}/${tasks.id(slot)}`;
  if (tasks.suspended(slot) === 'children') {
    expectSame(`${name}: waits for children`, tasks.openChildren(slot) > 0, true);
    return;
  }
  if (tasks.suspended(slot) !== null) {
    expectSame(`${name}: waits for something`, tasks.waits(slot) !== null, true);
    return;
  }
  const open = openDependencies(state, slot, rows);
  expectSame(`${name}: open dependencies`, tasks.unmet.get(slot), open);
  const waitsForKey = tasks.key(slot)?.waiters.has(slot) ?? false;
  const isOutside = state.admissions.position(job) !== null && isGate(state, slot);
  const waits = waitsForKey || isOutside || state.undecided.has(slot);
  expectSame(`${name}: waits for its key, for admission or the leader`, waits, open === 0);
}

function isGate({ tasks }: SchedulerState, slot: Slot): boolean {
  return tasks.options(slot).admission !== undefined;
}

function checkNodes(state: SchedulerState, rows: DurableRows): void {
  expectSame('nodes', state.nodes.size, rows.nodes.size);
  for (const node of state.nodes.values()) {
    const row = rows.nodes.get(node.id);
    const name = `node ${node.id}`;
    expectSame(`${name}: status`, node.status, row?.status);
    expectSame(`${name}: session`, node.sessionId, row?.sessionId);
    expectSame(`${name}: draining`, node.draining, row?.draining);
    expectSame(`${name}: quarantine`, node.quarantinedUntil, row?.quarantinedUntil);
  }
}

/** Tasks that this node could be given right now, whatever the queue thinks of it. */
export function couldRun(state: SchedulerState, node: Node): string[] {
  if (!node.takesWork || node.leases.size >= node.capacity) return [];
  const found: string[] = [];
  for (const job of state.jobs.values()) {
    if (job.atLimit) continue;
    for (const slot of job.slots) {
      if (state.tasks.state(slot) !== 'ready' || state.queue.fullLimit(slot) !== null) continue;
      const requirement = state.tasks.requirement(slot);
      if (requirement.isBulk && !node.mayTakeBulk) continue;
      if (node.group?.requirements.has(requirement) === true) found.push(state.tasks.id(slot));
    }
  }
  for (const { kind } of state.jobs.packed.counts()) {
    if (node.group?.requirements.has(kind.requirement) === true) found.push(kind.taskId);
  }
  return found;
}

/** In the log, each run of each task has ended exactly once. Call it when all jobs have ended. */
export function checkEnds(rows: DurableRows): void {
  const ends = new Map<string, number>();
  for (const { kind, jobNo, taskNo, run } of rows.events) {
    if (taskNo === null || !ENDS.has(kind)) continue;
    const name = `${jobNo}/${taskNo}/${run}`;
    ends.set(name, (ends.get(name) ?? 0) + 1);
  }
  for (const [name, count] of ends) expectSame(`ends of task ${name}`, count, 1);
  for (const { row: job, tasks } of rows.jobs.values()) {
    expectSame(`job ${job.id} is over`, isFinished(job.state), true);
    for (const { row } of tasks) {
      const name = `${row.jobNo}/${row.taskNo}/${row.run}`;
      expectSame(`the last run ${name} has ended`, ends.get(name), 1);
    }
  }
}

const ENDS: ReadonlySet<LogKind> = new Set(['completed', 'failed', 'dead', 'cancelled', 'skipped']);

function encoded(waits: unknown): string | null {
  return waits === null ? null : JSON.stringify(waits);
}

function expectSame(what: string, got: unknown, wanted: unknown): void {
  if (!Object.is(got, wanted)) {
    throw new Error(`${what}: expected ${String(wanted)}, got ${String(got)}`);
  }
}
