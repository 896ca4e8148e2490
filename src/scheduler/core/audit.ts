/**
 * Recounts from scratch what the state keeps count of: every index agrees with the tables, and every counter with
 * what it counts. This costs a walk over the whole memory, so it runs under the simulator and in property tests
 * (`SchedulerOptions.isAudited`); what costs next to nothing is checked where it happens, always.
 */
import { broken } from './errors.ts';
import { eventWaitsIn } from './job/event-index.ts';
import type { Job } from './job/job.ts';
import { awaitedEvent } from './job/waits.ts';
import type { Node } from './node/node.ts';
import type { Limit } from './queue/limit.ts';
import { pauseId } from './queue/pause.ts';
import type { SchedulerState } from './state.ts';
import { isDecision } from './steps/lifecycle.ts';
import { isFinished, isTerminal } from './task/chart.ts';
import type { Slot } from './task/table.ts';
import type { Lease } from './task/lease.ts';

/** Throws `invariant` for the first thing that is not as it should be. Call it between two steps. */
export function auditState(state: SchedulerState): void {
  const { tasks, queue, jobs } = state;
  let [known, ready] = [0, 0];
  for (const job of jobs.values()) {
    auditJob(state, job);
    known += job.slots.length;
    ready += job.queued;
  }
  same('tasks in memory', tasks.size, known);
  same('ready tasks queued', queue.size, ready + jobs.packed.size);
  auditJobIndices(state);
  auditPacked(state);
  auditLeases(state);
  for (const node of state.nodes.values()) auditNode(state, node);
  auditKeys(state);
  auditWaits(state);
  auditAdmissions(state);
  auditDecisions(state);
  auditPauses(state);
  if (jobs.size === 0) auditIdle(state);
}

function auditJob(state: SchedulerState, job: Job): void {
  const { tasks, leases } = state;
  const name = `job ${job.id}`;
  const count = (counts: (slot: Slot) => boolean): number => job.slots.filter(counts).length;
  const open = count((slot) => !isTerminal(tasks.state(slot)));
  same(`${name}: open tasks`, job.open, open);
  same(
    `${name}: leases`,
    job.assigned,
    count((slot) => leases.has(slot)) + count((slot) => state.duplicates.has(slot)),
  );
  same(
    `${name}: queued`,
    job.queued,
    count((slot) => tasks.state(slot) === 'ready'),
  );
  same(`${name}: is live`, !isFinished(job.state), open > 0);
  for (const [no, slot] of job.slots.entries()) {
    const task = `task ${job.id}/${tasks.id(slot)}`;
    same(`${task}: its job`, tasks.job(slot), job);
    same(`${task}: its number`, tasks.no(slot), no);
    same(`${task}: has a lease`, leases.has(slot), tasks.state(slot) === 'running');
    same(`${task}: is queued`, tasks.queue(slot) !== null, tasks.state(slot) === 'ready');
    const lane = tasks.queue(slot)?.home.lane.priority ?? tasks.priority(slot);
    same(`${task}: its lane is that of its priority`, lane, tasks.priority(slot));
    const isAccepted = tasks.acceptedFence.get(slot) <= tasks.fence.get(slot);
    same(`${task}: no fence was accepted that was never given`, isAccepted, true);
    auditKeeper(state, slot, task);
  }
}

/** A kept output is that of a task that succeeded, and its keeper lives. */
function auditKeeper({ tasks, nodes }: SchedulerState, slot: Slot, task: string): void {
  const job = tasks.job(slot);
  const keeper = job.outputs?.keeper(slot) ?? null;
  if (keeper === null) return;
  same(`${task}: has ended when its output is kept`, tasks.state(slot), 'succeeded');
  same(`${task}: its keeper is known`, nodes.get(keeper.id), keeper);
  same(`${task}: its keeper lives`, keeper.status, 'healthy');
  same(`${task}: its keeper knows of it`, keeper.outputJobs.has(job), true);
}

function auditJobIndices(state: SchedulerState): void {
  const { jobs, jobsById, jobsByKey, jobsBySchedule } = state;
  let [keyed, scheduled] = [0, 0];
  for (const job of jobs.values()) {
    same(`job ${job.id}: is known by its number`, jobs.get(job.no), job);
    same(`job ${job.id}: is known by its id`, jobsById.get(job.id), job);
    same(`job ${job.id}: its number was given`, job.no < state.nextJobNo, true);
    if (job.idempotencyKey !== null && jobsByKey.get(job.idempotencyKey) === job) keyed += 1;
    if (job.scheduleId === null) continue;
    scheduled += 1;
    const siblings = jobsBySchedule.get(job.scheduleId);
    same(`job ${job.id}: is known to its schedule`, siblings?.has(job), true);
  }
  for (const [key, job] of state.debounced) {
    same(`debounce key ${key}: its job is live`, jobs.get(job.no), job);
  }
  for (const [key, job] of state.singletons) {
    same(`singleton ${key}: its job is live`, jobs.get(job.no), job);
  }
  for (const [key, job] of state.batches) {
    same(`batch ${key}: its first job is live`, jobs.get(job.no), job);
  }
  same('jobs by idempotency key', jobsByKey.size, keyed);
  const known = [...jobsBySchedule.values()].reduce((sum, { size }) => sum + size, 0);
  same('jobs by schedule', known, scheduled);
}

/** Each packed job stands in the line of its lane, in order, and is found by both of its names. */
function auditPacked({ jobs: { packed }, nextJobNo }: SchedulerState): void {
  let known = 0;
  for (const line of packed.lines) {
    let before = { virtualTime: 0, no: 0 };
    let size = 0;
    for (const entry of packed.entries(line)) {
      const [virtualTime, no] = [packed.virtualTime(entry), packed.jobNo(entry)];
      const isAfter =
        virtualTime === before.virtualTime ? no > before.no : virtualTime > before.virtualTime;
      same(`packed job ${no}: comes after the one before`, isAfter, true);
      same(`packed job ${no}: is known by its number`, packed.find(no), entry);
      same(`packed job ${no}: is known by its id`, packed.findId(packed.idOf(entry)), entry);
      same(`packed job ${no}: its number was given`, no < nextJobNo, true);
      const { requirement, taskPriority } = packed.kind(entry);
      same(`packed job ${no}: its lane`, requirement.lanes[taskPriority]?.queue.line, line);
      before = { virtualTime, no };
      size += 1;
    }
    same('the jobs of a packed line', line.size, size);
    same('a packed line has its turn', line.isIn, true);
    known += size;
  }
  same('packed jobs', packed.size, known);
  const counted = [...packed.counts()].reduce((sum, { count }) => sum + count, 0);
  same('packed jobs by kind', counted, known);
}

function auditLeases(state: SchedulerState): void {
  const { tasks, nodes, leases } = state;
  const held = new Map<Limit, number>();
  for (const slot of leases.keys()) {
    const lease = leases.get(slot) as Lease;
    const name = `lease of task ${lease.job.id}/${tasks.id(slot)}`;
    same(`${name}: its slot`, lease.slot, slot);
    same(`${name}: its node has it`, lease.node.leases.has(lease), true);
    same(`${name}: its node is known`, nodes.get(lease.node.id), lease.node);
    same(`${name}: its session is current`, lease.node.sessionId, lease.sessionId);
    same(`${name}: its fence is the newest`, lease.fence, tasks.fence.get(slot));
    for (const limit of tasks.limits(slot)) held.set(limit, (held.get(limit) ?? 0) + 1);
  }
  for (const job of state.jobs.values()) {
    for (const slot of job.slots) {
      for (const limit of tasks.limits(slot)) {
        same(`limit ${limit.id}: leases`, limit.held, held.get(limit) ?? 0);
        same(`limit ${limit.id}: is known`, state.queue.limit(limit.id), limit);
      }
    }
  }
  let total = 0;
  for (const node of nodes.values()) total += node.leases.size;
  same('leases of all nodes', total, leases.size + state.duplicates.size);
  auditDuplicates(state);
}

/** There is a second lease only beside a first one that runs on another node, and its fence is above that one's. */
function auditDuplicates({ tasks, nodes, leases, duplicates }: SchedulerState): void {
  for (const [slot, lease] of duplicates) {
    const name = `duplicate of task ${lease.job.id}/${tasks.id(slot)}`;
    const original = leases.get(slot);
    same(`${name}: has an original`, original !== undefined, true);
    same(`${name}: its original runs`, original?.stopping, null);
    same(`${name}: is on another node`, original?.node === lease.node, false);
    same(`${name}: its node has it`, lease.node.leases.has(lease), true);
    same(`${name}: its node is known`, nodes.get(lease.node.id), lease.node);
    same(`${name}: its fence is above`, lease.fence > tasks.fence.get(slot), true);
    same(`${name}: its task is deterministic`, tasks.options(slot).output, 'deterministic');
  }
}

function auditNode(state: SchedulerState, node: Node): void {
  const name = `node ${node.id}`;
  const requirements = node.leases.all().map(({ slot }) => state.tasks.requirement(slot));
  same(`${name}: belongs to a group`, node.group !== null, node.status === 'healthy');
  same(`${name}: waits for work`, node.group?.waiting.has(node) ?? false, node.canTakeMore);
  for (const [kin, count] of node.heldBy) {
    const held = requirements.filter((each) => each.kin === kin);
    same(`${name}: leases of a requirement and its kin`, count, held.length);
  }
  const bulk = requirements.filter(({ isBulk }) => isBulk);
  same(`${name}: fragments`, node.bulkHeld, bulk.length);
  const alone = requirements.filter(({ restriction }) => restriction.isAlone);
  same(`${name}: tasks that run alone`, node.holdsAlone, alone.length);
}

function auditKeys(state: SchedulerState): void {
  for (const key of state.keys.values()) {
    for (const slot of key.waiters) {
      same(`a waiter for ${key.scope}`, state.tasks.state(slot), 'blocked');
      same(`${key.scope} has somebody to wait for`, key.owner !== null, true);
    }
  }
}

/** Exactly the tasks that wait for a signal or a job are registered as waiting. */
function auditWaits(state: SchedulerState): void {
  const { tasks } = state;
  let calls = 0;
  let awaiting = 0;
  let cancellable = 0;
  for (const job of state.jobs.values()) {
    if (job.options.cancelOn.length > 0) cancellable += 1;
    let listening = 0;
    for (const slot of job.slots) {
      const waits = tasks.waits(slot);
      const { signals, jobs } = waits ?? { signals: [], jobs: [] };
      const events = eventWaitsIn(slot, waits);
      same(
        `task ${job.id}: waits for events`,
        state.eventWaits.listeners(slot).length,
        events.length,
      );
      if (events.length > 0) awaiting += 1;
      const name = `task ${job.id}/${tasks.id(slot)}`;
      const isAsleep = tasks.state(slot) === 'blocked' || tasks.state(slot) === 'delayed';
      same(`${name}: listens while awake`, signals.length > 0 && !isAsleep, false);
      for (const signal of new Set(signals.map((each) => each.name))) {
        if (awaitedEvent(signal) !== null) continue;
        same(`${name}: listens`, [...job.signals.listeners(signal)].includes(slot), true);
        listening += 1;
      }
      for (const { jobId } of jobs) {
        same(`${name}: waits for ${jobId}`, state.callers.get(jobId)?.has(slot), true);
        calls += 1;
      }
    }
    same(`job ${job.id}: listeners`, job.signals.listenerCount, listening);
  }
  const booked = [...state.callers.values()].reduce((sum, slots) => sum + slots.size, 0);
  same('tasks that wait for a job', booked, calls);
  same('tasks that wait for events', state.eventWaits.size, awaiting);
  same('jobs that events cancel', state.cancels.size, cancellable);
}

/** An admitted job holds what it asked for, and all together no more than there is. */
function auditAdmissions(state: SchedulerState): void {
  const { tasks, admissions, settings } = state;
  const { maxQueries, queryMemoryBytes } = settings;
  let [running, waiting, bytes] = [0, 0, 0];
  for (const job of state.jobs.values()) {
    const gate = job.slots.find((slot) => tasks.options(slot).admission !== undefined);
    if (gate === undefined || isFinished(job.state)) continue;
    if (admissions.position(job) !== null) waiting += 1;
    if (tasks.state(gate) !== 'succeeded') continue;
    running += 1;
    bytes += tasks.options(gate).admission?.memoryBytes ?? 0;
  }
  same('admitted jobs', admissions.running, running);
  same('jobs in the admission queue', admissions.waiting, waiting);
  same('memory of admitted jobs', admissions.heldBytes, bytes);
  same('no more jobs than may run', running <= maxQueries, true);
  const fits = queryMemoryBytes === 0 || running <= 1 || bytes <= queryMemoryBytes;
  same('no more memory than there is', fits, true);
}

/** Exactly the tasks that wait for the leader, and for nothing else, are known as undecided. */
function auditDecisions(state: SchedulerState): void {
  const { tasks, undecided } = state;
  let waiting = 0;
  for (const job of state.jobs.values()) {
    for (const slot of job.slots) {
      if (!isDecision(state, slot) || tasks.state(slot) !== 'blocked') continue;
      const waits = tasks.unmet.get(slot) === 0;
      same(`task ${job.id}/${tasks.id(slot)}: is undecided`, undecided.has(slot), waits);
      if (waits) waiting += 1;
    }
  }
  same('undecided tasks', undecided.size, waiting);
}

/** What is paused is served by nobody, and nothing else is held up as if it were. */
function auditPauses({ pauses, tasks, matching, jobs }: SchedulerState): void {
  for (const job of jobs.values()) {
    for (const slot of job.slots) {
      const requirement = tasks.requirement(slot);
      const isPaused = pauses.has(pauseId({ kind: 'executor', name: requirement.executor }));
      same(`executor ${requirement.executor}: is paused`, matching.isPaused(requirement), isPaused);
      if (isPaused) same(`${requirement.text}: groups while paused`, requirement.groups.size, 0);
      for (const { key, isPaused: isHeld } of tasks.limits(slot)) {
        same(`key ${key}: is paused`, isHeld, pauses.has(pauseId({ kind: 'key', name: key })));
      }
    }
  }
}

/** With no job in memory, nothing of any job may be left. */
function auditIdle(state: SchedulerState): void {
  same('leases left', state.leases.size, 0);
  same('execution keys left', state.keys.size, 0);
  same('limits left', state.queue.limitCount, 0);
  same('fairness keys left', state.queue.shareCount, 0);
  same('requirements in use', state.matching.inUse, 0);
  for (const node of state.nodes.values()) same('outputs left', node.outputJobs.size, 0);
}

function same(what: string, got: unknown, wanted: unknown): void {
  if (!Object.is(got, wanted)) broken(`${what}: ${String(got)} instead of ${String(wanted)}`);
}
