/** What must hold of the core after every step, recounted from scratch. */
import { dependencyNumbers, isFinished, isTerminal } from '../../../src/scheduler/core/index.ts';
import type { LogKind, SchedulerState } from '../../../src/scheduler/core/index.ts';
import type { DurableRows } from './durable-rows.ts';

type Slot = Parameters<SchedulerState['tasks']['state']>[0];
type Job = ReturnType<SchedulerState['tasks']['job']>;
type Node = NonNullable<ReturnType<SchedulerState['nodes']['get']>>;

export function checkInvariants(state: SchedulerState, rows: DurableRows): void {
  let tasks = 0;
  let ready = 0;
  for (const job of state.jobs.values()) {
    checkJob(state, job, rows);
    tasks += job.slots.length;
    ready += job.slots.filter((slot) => state.tasks.state(slot) === 'ready').length;
  }
  expectSame('tasks in memory', state.tasks.size, tasks);
  expectSame('ready tasks in line', state.queue.size, ready);
  expectSame('the log', state.lastSeq, rows.lastSeq);
  checkLeases(state);
  checkNodes(state, rows);
  checkKeys(state);
  checkWaits(state);
  checkAdmissions(state);
  if (state.jobs.size === 0) checkIdle(state);
}

function checkJob(state: SchedulerState, job: Job, rows: DurableRows): void {
  const { tasks, leases } = state;
  const durable = rows.jobs.get(job.no);
  const name = `job ${job.id}`;
  const open = job.slots.filter((slot) => !isTerminal(tasks.state(slot)));
  expectSame(`${name}: open tasks`, job.open, open.length);
  expectSame(`${name}: leases`, job.assigned, job.slots.filter((slot) => leases.has(slot)).length);
  const ready = job.slots.filter((slot) => tasks.state(slot) === 'ready');
  expectSame(`${name}: in line`, job.queued, ready.length);
  expectSame(`${name}: state`, job.state, durable?.row.state);
  expectSame(`${name}: stopping`, job.stopping, durable?.row.stopping);
  expectSame(`${name}: run`, job.run, durable?.row.run);
  expectSame(`${name}: tasks`, job.slots.length, durable?.row.taskCount);
  expectSame(`${name}: rows`, job.slots.length, durable?.tasks.length);
  expectSame(`${name}: is live`, open.length > 0, !isFinished(job.state));
  for (const slot of job.slots) checkTask(state, slot, rows);
}

function checkTask(state: SchedulerState, slot: Slot, rows: DurableRows): void {
  const { tasks, leases } = state;
  const name = `task ${tasks.job(slot).id}/${tasks.id(slot)}`;
  const lease = leases.get(slot);
  const row = rows.jobs.get(tasks.job(slot).no)?.tasks[tasks.no(slot)]?.row;
  expectSame(`${name}: a lease`, lease !== undefined, tasks.state(slot) === 'running');
  expectSame(`${name}: in line`, tasks.line(slot) !== null, tasks.state(slot) === 'ready');
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
  const { tasks, nodes } = state;
  const job = tasks.job(slot);
  const name = `task ${job.id}/${tasks.id(slot)}`;
  const keeper = job.outputs?.keeper(slot) ?? null;
  if (keeper !== null) {
    expectSame(`${name}: has ended when its output is kept`, tasks.state(slot), 'succeeded');
    expectSame(`${name}: its keeper is known`, nodes.get(keeper.id), keeper);
    expectSame(`${name}: its keeper lives`, keeper.status, 'healthy');
    expectSame(`${name}: its keeper knows of it`, keeper.outputJobs.has(job), true);
  }
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
  expectSame(`${name}: waits for its key or to be let in`, waitsForKey || isOutside, open === 0);
}

function isGate({ tasks }: SchedulerState, slot: Slot): boolean {
  return tasks.options(slot).admission !== undefined;
}

/** Who was let in holds what it asked for, and that is never more than there is. */
function checkAdmissions(state: SchedulerState): void {
  const { tasks, admissions, settings } = state;
  const { maxQueries, queryMemoryBytes } = settings;
  let [running, waiting, bytes] = [0, 0, 0];
  for (const job of state.jobs.values()) {
    const gate = job.slots.find((slot) => isGate(state, slot));
    if (gate === undefined || isFinished(job.state)) continue;
    if (admissions.position(job) !== null) waiting += 1;
    if (tasks.state(gate) !== 'succeeded') continue;
    running += 1;
    bytes += tasks.options(gate).admission?.memoryBytes ?? 0;
  }
  expectSame('jobs that were let in', admissions.running, running);
  expectSame('jobs that wait to be let in', admissions.waiting, waiting);
  expectSame('memory that they hold', admissions.heldBytes, bytes);
  expectSame('no more than may run', running <= maxQueries, true);
  const fits = queryMemoryBytes === 0 || running <= 1 || bytes <= queryMemoryBytes;
  expectSame('no more memory than there is', fits, true);
}

function checkLeases(state: SchedulerState): void {
  const held = new Map<unknown, number>();
  for (const [slot, lease] of state.leases) {
    expectSame('a lease knows its slot', lease.slot, slot);
    expectSame('its node has it', lease.node.leases.get(slot), lease);
    expectSame('its node is known', state.nodes.get(lease.node.id), lease.node);
    expectSame('its session is current', lease.node.sessionId, lease.sessionId);
    expectSame('its fence is the newest', lease.fence, state.tasks.fence.get(slot));
    const limit = state.tasks.limit(slot);
    if (limit !== null) held.set(limit, (held.get(limit) ?? 0) + 1);
  }
  for (const job of state.jobs.values()) {
    for (const slot of job.slots) {
      const limit = state.tasks.limit(slot);
      if (limit === null) continue;
      expectSame(`key ${limit.key}: leases`, limit.held, held.get(limit) ?? 0);
    }
  }
}

function checkNodes(state: SchedulerState, rows: DurableRows): void {
  let leases = 0;
  expectSame('nodes', state.nodes.size, rows.nodes.size);
  for (const node of state.nodes.values()) {
    const row = rows.nodes.get(node.id);
    const name = `node ${node.id}`;
    const requirements = [...node.leases.keys()].map((slot) => state.tasks.requirement(slot));
    leases += node.leases.size;
    expectSame(`${name}: status`, node.status, row?.status);
    expectSame(`${name}: session`, node.sessionId, row?.sessionId);
    expectSame(`${name}: draining`, node.draining, row?.draining);
    expectSame(`${name}: quarantine`, node.quarantinedUntil, row?.quarantinedUntil);
    expectSame(`${name}: belongs to a group`, node.group !== null, node.status === 'healthy');
    expectSame(`${name}: waits in line`, node.group?.waiting.has(node) ?? false, node.canTakeMore);
    for (const [kin, count] of node.heldBy) {
      const held = requirements.filter((each) => each.kin === kin);
      expectSame(`${name}: leases of a requirement and its kin`, count, held.length);
    }
    const bulk = requirements.filter(({ isBulk }) => isBulk);
    expectSame(`${name}: fragments`, node.bulkHeld, bulk.length);
    const alone = requirements.filter(({ caution }) => caution.isAlone);
    expectSame(`${name}: tasks that run alone`, node.holdsAlone, alone.length);
  }
  expectSame('leases of all nodes', leases, state.leases.size);
}

/** Tasks that this node could be given right now, whatever the queue thinks of it. */
export function couldRun(state: SchedulerState, node: Node): string[] {
  const { slots, prefetch } = node.offer;
  if (!node.takesWork || node.leases.size >= slots + prefetch) return [];
  const found: string[] = [];
  for (const job of state.jobs.values()) {
    if (job.atLimit) continue;
    for (const slot of job.slots) {
      if (state.tasks.state(slot) !== 'ready' || state.tasks.limit(slot)?.full === true) continue;
      const requirement = state.tasks.requirement(slot);
      if (requirement.isBulk && !node.mayTakeBulk) continue;
      if (node.group?.requirements.has(requirement) === true) found.push(state.tasks.id(slot));
    }
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

function checkKeys(state: SchedulerState): void {
  for (const key of state.keys.values()) {
    for (const slot of key.waiters) {
      expectSame(`a waiter for ${key.scope}`, state.tasks.state(slot), 'blocked');
      expectSame(`${key.scope} has somebody to wait for`, key.owner !== null, true);
    }
  }
}

/** The books say who waits for what, and nothing else. */
function checkWaits(state: SchedulerState): void {
  const { tasks } = state;
  let calls = 0;
  for (const job of state.jobs.values()) {
    let listening = 0;
    for (const slot of job.slots) {
      const { signals, jobs } = tasks.waits(slot) ?? { signals: [], jobs: [] };
      const name = `task ${job.id}/${tasks.id(slot)}`;
      const isAsleep = tasks.state(slot) === 'blocked' || tasks.state(slot) === 'delayed';
      expectSame(`${name}: listens in its sleep`, signals.length > 0 && !isAsleep, false);
      for (const signal of new Set(signals.map((each) => each.name))) {
        expectSame(`${name}: listens`, [...job.signals.listeners(signal)].includes(slot), true);
        listening += 1;
      }
      for (const { jobId } of jobs) {
        expectSame(`${name}: calls ${jobId}`, state.callers.get(jobId)?.has(slot), true);
        calls += 1;
      }
    }
    expectSame(`job ${job.id}: listeners`, job.signals.listenerCount, listening);
  }
  const booked = [...state.callers.values()].reduce((sum, slots) => sum + slots.size, 0);
  expectSame('calls', booked, calls);
}

function encoded(waits: unknown): string | null {
  return waits === null ? null : JSON.stringify(waits);
}

/** With no job in memory, nothing of any job may be left. */
function checkIdle(state: SchedulerState): void {
  expectSame('tasks left', state.tasks.size, 0);
  expectSame('leases left', state.leases.size, 0);
  expectSame('jobs by id left', state.jobsById.size, 0);
  expectSame('jobs by key left', state.jobsByKey.size, 0);
  expectSame('execution keys left', state.keys.size, 0);
  expectSame('concurrency keys left', state.queue.limitCount, 0);
  expectSame('requirements in use', state.matching.inUse, 0);
  expectSame('jobs let in', state.admissions.running + state.admissions.waiting, 0);
  for (const node of state.nodes.values()) expectSame('outputs left', node.outputJobs.size, 0);
}

function expectSame(what: string, got: unknown, wanted: unknown): void {
  if (!Object.is(got, wanted)) {
    throw new Error(`${what}: expected ${String(wanted)}, got ${String(got)}`);
  }
}
