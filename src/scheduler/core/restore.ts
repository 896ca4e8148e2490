/**
 * Loads the state from the rows that it wrote. What is not durable comes back at its
 * safest: every session gets a full TTL from now on, every lease counts as not yet received.
 */
import { decodeOptions, isAddedTask } from './document/options.ts';
import type { Capabilities, Dependency } from './document/document.ts';
import { parseJobDocument } from './document/parse.ts';
import { Effects } from './effects.ts';
import { isMillraceError } from './errors.ts';
import { instant, later } from './ids.ts';
import type { Instant, JobNo, NodeId, SessionId, TermId } from './ids.ts';
import { Place } from './memory/linked-list.ts';
import { Edges, decodeDependencies } from './job/edges.ts';
import { Job } from './job/job.ts';
import { decodeWaits } from './job/waits.ts';
import { Node } from './node/node.ts';
import type { ClusterImage, JobImage, NodeRow, ScheduleRow, TaskRow } from './rows.ts';
import { declinedIn, isDeclined } from './schedule/declined.ts';
import { decodeScheduleSpec, runsIn } from './schedule/spec.ts';
import type { SchedulerState } from './state.ts';
import { loseAttempt } from './steps/attempt.ts';
import type { Loss } from './steps/attempt.ts';
import { isPauseRow } from './queue/pause.ts';
import { restorePause } from './steps/pauses.ts';
import { restoreLimit } from './steps/rates.ts';
import { replaceLoaded } from './steps/debounce.ts';
import { restrictPlacement } from './steps/retry-placement.ts';
import { awaitThings } from './steps/awaited.ts';
import { armQueueTimeout, armWake, isDecision, makeReady } from './steps/lifecycle.ts';
import { armQuarantineEnd } from './steps/quarantine.ts';
import { armOutputs } from './steps/outputs.ts';
import { armRunTimeout } from './steps/report.ts';
import { armSchedule } from './steps/schedule-timer.ts';
import { dropJob, settle } from './steps/settle.ts';
import { armDeath, armSession } from './steps/session.ts';
import { restoreTimes } from './steps/stragglers.ts';
import { addTask, armTotals } from './steps/submit.ts';
import { endCall, wakeUnanswered } from './steps/wait.ts';
import { isFinished, isTerminal } from './task/chart.ts';
import type { Lease } from './task/lease.ts';
import type { Slot } from './task/table.ts';
import { StepContext } from './step-context.ts';

/** First of all: counters, nodes and schedules, into an empty state. */
export function restoreCluster(
  state: SchedulerState,
  image: ClusterImage,
  now: Instant,
  effects: Effects,
): void {
  const context = new StepContext(state, now, effects);
  state.isComplete = false;
  state.debouncedWhileLoading = new Map();
  state.commitNo = image.commitNo;
  state.lastSeq = image.lastSeq;
  state.nextJobNo = image.nextJobNo;
  for (const row of image.nodes) restoreNode(context, row);
  for (const row of image.schedules) restoreSchedule(context, row);
  for (const row of image.limits) {
    if (isPauseRow(row)) restorePause(state, row);
    else restoreLimit(context, row);
  }
}

/** Called last, when every live job is in memory: schedules may fire from here on, and unanswered calls are asked
 * again. */
export function restoreDone(state: SchedulerState, now: Instant): void {
  const context = new StepContext(state, now, new Effects());
  state.isComplete = true;
  state.debouncedWhileLoading = null;
  for (const schedule of state.schedules.values()) armSchedule(context, schedule);
  wakeUnanswered(context);
  if (state.admissions.isWaited) state.timers.arm({ type: 'admission', at: now });
}

/** A finished job that was brought in for a call which left it as it was. */
export function forgetIfOver(state: SchedulerState, no: JobNo): void {
  const job = state.jobs.get(no);
  if (job !== undefined && job.open === 0) dropJob(state, job);
}

/** A new term begins: said once, in its first transaction. */
export function announceTerm(
  state: SchedulerState,
  leaderTerm: { readonly epoch: number; readonly nodeId: string },
  now: Instant,
  effects: Effects,
): void {
  new StepContext(state, now, effects).log('leader.elected', null, { ...leaderTerm });
}

/** What a store that was rewound had acknowledged before. */
export interface LossDetail {
  /** The last event that both histories have. */
  readonly afterSeq: number;
  readonly commits: number;
  readonly events: number;
  readonly jobs: number;
}

/** Said in the first transaction of the term that follows. */
export function announceLoss(
  state: SchedulerState,
  loss: LossDetail,
  now: Instant,
  effects: Effects,
): void {
  new StepContext(state, now, effects).log('history.rewound', null, { ...loss });
}

/** Then jobs, in any order and any portions. One that is in memory, or left it since the image was
 * read, is left alone. */
export function restoreJob(
  state: SchedulerState,
  image: JobImage,
  now: Instant,
  effects: Effects,
): void {
  if (state.jobs.has(image.job.no)) return;
  if (state.leftWhileReading?.has(image.job.no) === true) return;
  const context = new StepContext(state, now, effects);
  const job = new Job(image.job);
  state.addJob(job, image.specs[0]?.executor ?? '');
  const dependencies = image.specs.map((spec) => decodeDependencies(spec.dependsOn));
  restoreSkeleton(context, job, image, dependencies);
  restoreKeys(context, image);
  for (const row of image.signals) job.signals.add(row);
  const unmet = countUnmet(image, dependencies);
  for (const row of image.tasks) restoreTask(context, job, row, unmet[row.taskNo] ?? 0);
  job.isFull = job.options.batch !== null && image.tasks.some(hasBegun);
  for (const slot of job.slots) restoreWait(context, slot);
  if (!isFinished(job.state)) restoreOutputs(context, job, image);
  // When a re-run was asked for is not in the row: until it has begun, its time counts from now.
  if (job.run > 1 && job.startedAt === null) job.runSince = now;
  if (!isFinished(job.state)) armTotals(context, job);
  if (state.orphans.delete(job.id)) endCall(context, job.id);
  if (job.options.debounce !== null) replaceLoaded(context, job, job.options.debounce.key);
  settle(context);
  state.jobs.packIfFar(job);
}

/** Before its time only a full batch has; after it nobody asks. */
function hasBegun({ state, attempt }: TaskRow): boolean {
  return attempt > 0 || (state !== 'blocked' && state !== 'delayed');
}

function restoreNode(context: StepContext, row: NodeRow): void {
  const { state } = context;
  const node = new Node(
    {
      id: row.id,
      sessionId: row.sessionId,
      slots: row.slots,
      prefetch: row.prefetch,
      executors: row.executors,
      capabilities: JSON.parse(row.capabilities) as Capabilities,
      address: row.address,
      version: row.version,
    },
    row.registeredAt,
    later(context.now, state.settings.sessionTtlMs),
  );
  node.status = row.status;
  node.draining = row.draining;
  node.quarantinedUntil = row.quarantinedUntil;
  // The row of a healthy node is as old as its registration: heartbeats write none.
  node.seenAt = row.status === 'healthy' ? context.now : row.seenAt;
  state.nodes.set(node.id, node);
  if (node.status !== 'healthy') {
    state.replacedSessions.set(node.sessionId, node.id);
    return armDeath(context, node);
  }
  state.matching.add(node);
  armSession(context, node);
  armQuarantineEnd(context, node);
}

function restoreSchedule(context: StepContext, row: ScheduleRow): void {
  const { state } = context;
  if (isDeclined(row)) return void state.declinedSchedules.set(row.id, declinedIn(row));
  try {
    const spec = decodeScheduleSpec(row.spec, state.calendar);
    const document = parseJobDocument(spec.document, state.settings);
    const { id, paused, nextAt, lastAt, lastJobId } = row;
    const runs = spec.maxRuns === undefined ? 0 : runsIn(row.spec);
    const schedule = { id, spec, document, paused, nextAt, lastAt, lastJobId, runs };
    state.schedules.set(id, { ...schedule, isWaiting: false, timerNo: 0 });
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    // Stricter limits than when it was stored: it stays in the store and is logged, since a leader that cannot start
    // is worse.
    context.log('schedule.missed', null, { schedule: row.id, error: error.message });
  }
}

type Dependencies = readonly (readonly Dependency[])[];

function restoreSkeleton(
  context: StepContext,
  job: Job,
  image: JobImage,
  dependencies: Dependencies,
): void {
  if (dependencies.some((list) => list.length > 0)) job.edges = new Edges(dependencies);
  for (const [at, spec] of image.specs.entries()) {
    const { id, executor, priority, parentNo: parent, idempotencyKey } = spec;
    const options = decodeOptions(spec.options, context.state.settings);
    const added = parent !== null && isAddedTask(spec.options) ? { isAdded: true as const } : {};
    const document = { id, executor, priority, parent, idempotencyKey, options, ...added };
    addTask(context.state, job, { ...document, dependsOn: dependencies[at] ?? [], input: null });
  }
  job.trim();
  for (const slot of job.slots) context.state.tasks.opened(slot);
}

function restoreKeys(context: StepContext, image: JobImage): void {
  for (const row of image.keys) {
    const key = context.state.keys.get(row.scope);
    if (key === undefined || key.completed || key.owner !== null) continue;
    // What was settled since the image was read counts, not what the image says.
    const settled = context.state.keysWhileReading?.get(row.scope);
    if (settled !== undefined) key.completed = settled.completed;
    else if (row.state === 'completed') key.completed = true;
    else key.owner = { jobNo: row.jobNo, taskNo: row.taskNo };
  }
}

/** The open dependencies that each blocked task still waits for. */
function countUnmet(image: JobImage, dependencies: Dependencies): number[] {
  const isOpen = ({ no }: Dependency): boolean => {
    const row = image.tasks[no];
    return row !== undefined && !isTerminal(row.state);
  };
  return dependencies.map((list) => list.filter(isOpen).length);
}

function restoreTask(context: StepContext, job: Job, row: TaskRow, unmet: number): void {
  const { tasks, queue } = context.state;
  const slot = job.slots[row.taskNo] as Slot;
  tasks.restoreState(slot, row.state);
  tasks.run.set(slot, row.run);
  tasks.attempt.set(slot, row.attempt);
  tasks.failures.set(slot, row.failures);
  tasks.losses.set(slot, row.losses);
  // Where outputs get lost, most losses are of those: they say nothing about the task itself.
  if (job.outputs === null) tasks.setExposures(slot, row.losses);
  tasks.fence.set(slot, row.fence);
  // The next one may have been given to a duplicate, of which no row tells.
  if (row.fence > 0 && tasks.options(slot).output === 'deterministic')
    tasks.reserveFence(slot, row.fence + 1);
  tasks.setTerm(slot, row.term);
  tasks.setSuspended(slot, row.suspended);
  tasks.setError(slot, row.error);
  tasks.progress.set(slot, row.progress);
  tasks.queuedAt.set(slot, row.queuedAt ?? 0);
  tasks.startedAt.set(slot, row.startedAt ?? 0);
  tasks.notBefore.set(slot, row.notBefore ?? 0);
  tasks.unmet.set(slot, unmet);
  const waits = decodeWaits(row.waits);
  if (waits !== null) awaitThings(context.state, slot, waits);
  // Only the document's own first runs were certainly created with the job.
  const isFirst = row.run === 1 && tasks.parent(slot) === null;
  tasks.setSince(slot, isFirst ? job.createdAt : (row.queuedAt ?? context.now));
  if (!isTerminal(row.state)) restrictPlacement(context.state, slot);
  restoreAdmission(context, job, slot, row.state);
  switch (row.state) {
    case 'blocked':
      return;
    case 'ready':
      queue.add(slot);
      return armQueueTimeout(context, slot, instant(tasks.queuedAt.get(slot)));
    case 'delayed':
      return armWake(context, slot);
    case 'running':
      return restoreLease(context, job, slot, row);
    case 'succeeded':
    case 'failed':
      return tasks.acceptedFence.set(slot, row.fence);
    case 'cancelled':
    case 'skipped':
      return;
  }
}

/** With nothing unmet, only a decision or another task's execution key kept it blocked. The owner may have ended while this job was
 * not in memory, so the claim is repeated. */
function restoreWait(context: StepContext, slot: Slot): void {
  const { tasks } = context.state;
  if (tasks.state(slot) !== 'blocked' || tasks.suspended(slot) !== null) return;
  if (tasks.options(slot).admission !== undefined) return;
  if (tasks.unmet.get(slot) > 0) return;
  // Restoring changes no row, and it has none to change.
  if (isDecision(context.state, slot)) context.state.undecided.add(slot);
  else if (tasks.key(slot) !== null) makeReady(context, slot);
}

/** Outputs on a live session are retained. The row names the node only: but a node has one session at a time, and
 * outputs from before its present session are gone. For other nodes that is found out when they are read. */
function restoreOutputs(context: StepContext, job: Job, { tasks: rows }: JobImage): void {
  const { tasks, nodes } = context.state;
  const { outputs } = job;
  if (outputs === null) return;
  let gone = 0;
  for (const { taskNo, state, nodeId, finishedAt } of rows) {
    const slot = job.slots[taskNo] as Slot;
    if (state !== 'succeeded' || tasks.options(slot).output === undefined) continue;
    const node = nodeId === null ? undefined : nodes.get(nodeId);
    const isSame = node?.status === 'healthy' && node.registeredAt <= (finishedAt ?? 0);
    if (node !== undefined && isSame) outputs.keep(slot, node);
    else gone += 1;
  }
  restoreTimes(context, job, rows);
  // Not now: restoring changes no row.
  if (gone > 0) armOutputs(context, job, 0);
}

/** An admitted job holds its place, one that was not waits as before. */
function restoreAdmission(
  context: StepContext,
  job: Job,
  slot: Slot,
  state: TaskRow['state'],
): void {
  const { tasks, admissions } = context.state;
  const { admission } = tasks.options(slot);
  if (admission === undefined || isFinished(job.state)) return;
  if (state === 'succeeded') admissions.hold(job, admission.memoryBytes);
  if (state !== 'blocked' || tasks.unmet.get(slot) > 0) return;
  admissions.wait(job, slot, admission.memoryBytes);
  armQueueTimeout(context, slot, instant(tasks.queuedAt.get(slot)));
}

const SESSION_UNKNOWN: Loss = { why: 'its session is not known here', culprit: 'anybody' };

function restoreLease(context: StepContext, job: Job, slot: Slot, row: TaskRow): void {
  const { state } = context;
  const known = row.nodeId === null ? undefined : state.nodes.get(row.nodeId);
  const isAlive = known?.sessionId === row.sessionId && known?.status === 'healthy';
  const node = isAlive ? known : departed(context, row);
  const lease: Lease = {
    slot,
    job,
    taskNo: row.taskNo,
    fence: row.fence,
    term: row.term as TermId,
    node,
    sessionId: node.sessionId,
    resumed: false,
    since: row.startedAt ?? row.queuedAt ?? context.now,
    startedAt: row.startedAt,
    stopping: row.stopping,
    beginsAgain: isStoppedToBegin(context, job, slot, row),
    duplicate: 'unknown',
    ackedByPoll: null,
    namedIn: 0,
    place: new Place(),
  };
  state.leases.set(slot, lease);
  node.leases.add(lease);
  state.queue.assigned(slot, null);
  state.matching.held(node, state.tasks.requirement(slot), 1);
  if (!isAlive) loseAttempt(context, lease, SESSION_UNKNOWN);
  else if (row.startedAt !== null) armRunTimeout(context, lease, row.startedAt);
}

/** In a job that is not being stopped, only tasks that were added at run time are ever cancelled by themselves. */
function isStoppedToBegin(
  context: StepContext,
  job: Job,
  slot: Slot,
  { stopping }: TaskRow,
): boolean {
  if (stopping !== 'cancel' || job.stopping !== null || job.outputs === null) return false;
  return !context.state.tasks.isAdded(slot);
}

/** A session that did not survive, as in a store that was moved: here only to lose its lease. */
function departed(context: StepContext, { nodeId, sessionId }: TaskRow): Node {
  const id = nodeId ?? ('' as NodeId);
  const offer = { id, sessionId: sessionId ?? ('' as SessionId), slots: 0, executors: [] };
  const rest = { prefetch: 0, capabilities: {}, address: null, version: '' };
  return new Node({ ...offer, ...rest }, context.now, context.now);
}
