/**
 * The skeleton of every task of every live job, column by column. A task is a slot: a small
 * number that is good as long as its job is in memory, and is used again afterwards. Inputs,
 * results and steps are never here.
 */
import { ByteColumn, DoubleColumn, ShortColumn, WordColumn } from '../memory/column.ts';
import { broken, invariant } from '../errors.ts';
import type { Instant, NodeId, TaskId, TaskNo, TermId } from '../ids.ts';
import { taskNo } from '../ids.ts';
import type { Job } from '../job/job.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import { UNRESTRICTED } from '../queue/requirement.ts';
import type { Requirement } from '../queue/requirement.ts';
import type { Limit } from '../queue/limit.ts';
import { isEmptyWait } from '../job/waits.ts';
import type { AwaitedThings } from '../job/waits.ts';
import type { ExecutionKey } from '../job/execution-key.ts';
import type { TaskOptions } from '../document/document.ts';
import type { Suspension, TaskError } from '../rows.ts';
import { TASK_MOVES, TASK_STATES, isTerminal } from './chart.ts';
import type { TaskState } from './chart.ts';
import { NO_EXTRAS, NO_LIMITS } from './extras.ts';
import type { Extras } from './extras.ts';

declare const slotBrand: unique symbol;
export type Slot = number & { readonly [slotBrand]: true };

const SUSPENSIONS: readonly (Suspension | null)[] = [null, 'time', 'children', 'signal', 'job'];

/** What a task is born with and keeps. */
export interface TaskFacts {
  readonly job: Job;
  readonly no: TaskNo;
  readonly id: TaskId;
  readonly priority: number;
  readonly parent: TaskNo | null;
  /** A suspended parent waits for it: see `steps/children.ts`. */
  readonly isAwaited: boolean;
  /** A running task has added it: what becomes of it is that task's business. */
  readonly isAdded: boolean;
  readonly requirement: Requirement;
  readonly options: TaskOptions;
  readonly limits: readonly Limit[];
  readonly key: ExecutionKey | null;
}

const NO_SLOTS: readonly Slot[] = [];
const NO_NODES: readonly NodeId[] = [];

export class TaskTable {
  readonly #jobs: (Job | null)[] = [null];
  readonly #ids: (TaskId | null)[] = [null];
  readonly #requirements: (Requirement | null)[] = [null];
  readonly #options: (TaskOptions | null)[] = [null];
  /** Null for most: a list is looked at a dozen times for each new task, which costs less than a map. */
  readonly #extras: (Extras | null)[] = [null];
  readonly #numbers: WordColumn = new WordColumn();
  readonly #priorities: ByteColumn = new ByteColumn();
  readonly #states: ByteColumn = new ByteColumn();
  readonly #suspended: ByteColumn = new ByteColumn();
  readonly #terms: WordColumn = new WordColumn();
  readonly run: ShortColumn = new ShortColumn();
  /** The attempt that runs or ran last. A returned task keeps its number, a suspended one begins again. */
  readonly attempt: ShortColumn = new ShortColumn();
  readonly failures: ShortColumn = new ShortColumn();
  readonly losses: ShortColumn = new ShortColumn();
  readonly fence: WordColumn = new WordColumn();
  /** The fence whose ending report was accepted last: a re-sent one is answered "ok". */
  readonly acceptedFence: WordColumn = new WordColumn();
  /** Dependencies still to end before a blocked task is ready. */
  readonly unmet: WordColumn = new WordColumn();
  /** New with every move, and never the same for two tasks: timers armed before are stale, also of earlier lives. A busy
   * leader makes more of them in a day than 32 bits can count. */
  readonly stamp: DoubleColumn = new DoubleColumn();
  readonly progress: DoubleColumn = new DoubleColumn();
  readonly queuedAt: DoubleColumn = new DoubleColumn();
  readonly startedAt: DoubleColumn = new DoubleColumn();
  readonly notBefore: DoubleColumn = new DoubleColumn();
  // Where a ready task is queued: see JobQueue.
  readonly previous: WordColumn = new WordColumn();
  readonly next: WordColumn = new WordColumn();
  readonly #queues: (JobQueue | null)[] = [null];
  readonly #free: number[] = [];
  readonly #termIds: (TermId | null)[] = [null];
  readonly #termNumbers: Map<TermId, number> = new Map();
  #count = 0;
  #stamps: number;

  /** `stamps`: how many were given before. */
  constructor(stamps = 0) {
    this.#stamps = stamps;
  }

  get size(): number {
    return this.#count;
  }

  /** A new task in state `blocked`, run 1. */
  add(facts: TaskFacts): Slot {
    const slot = (this.#free.pop() ?? this.#jobs.length) as Slot;
    this.#count += 1;
    this.#jobs[slot] = facts.job;
    this.#ids[slot] = facts.id;
    this.#requirements[slot] = facts.requirement;
    this.#options[slot] = facts.options;
    this.#queues[slot] = null;
    const { key, limits, parent, isAwaited, isAdded } = facts;
    const isPlain = key === null && limits.length === 0 && parent === null;
    this.#extras[slot] = isPlain ? null : { ...NO_EXTRAS, key, limits, parent, isAwaited, isAdded };
    this.#numbers.set(slot, facts.no);
    this.#priorities.set(slot, facts.priority);
    this.#states.set(slot, 0);
    this.#suspended.set(slot, 0);
    this.#terms.set(slot, 0);
    this.run.set(slot, 1);
    this.attempt.set(slot, 0);
    this.failures.set(slot, 0);
    this.losses.set(slot, 0);
    this.fence.set(slot, 0);
    this.acceptedFence.set(slot, 0);
    this.unmet.set(slot, 0);
    this.progress.set(slot, 0);
    this.queuedAt.set(slot, 0);
    this.startedAt.set(slot, 0);
    this.notBefore.set(slot, 0);
    this.#stampAnew(slot);
    return slot;
  }

  free(slot: Slot): void {
    invariant(this.#queues[slot] === null, 'a freed task is in no queue');
    this.#count -= 1;
    this.#jobs[slot] = null;
    this.#ids[slot] = null;
    this.#requirements[slot] = null;
    this.#options[slot] = null;
    this.#extras[slot] = null;
    this.#stampAnew(slot);
    this.#free.push(slot);
  }

  #stampAnew(slot: Slot): void {
    this.#stamps += 1;
    this.stamp.set(slot, this.#stamps);
  }

  /** All tasks, or those in some of the places. True if there are places beyond. */
  each(fn: (slot: Slot) => void, from: number = 1, to: number = this.#jobs.length): boolean {
    for (let at = Math.max(1, from); at < Math.min(to, this.#jobs.length); at += 1)
      if (this.#jobs[at] !== null) fn(at as Slot);
    return to < this.#jobs.length;
  }

  state(slot: Slot): TaskState {
    return TASK_STATES[this.#states.get(slot)] as TaskState;
  }

  /** The only place that changes the state of a task. */
  move(slot: Slot, to: TaskState): void {
    const from = this.state(slot);
    if (!TASK_MOVES[from].includes(to)) broken(`a task may not go from ${from} to ${to}`);
    if (isTerminal(from)) this.#countOpen(slot, 1);
    else if (isTerminal(to)) this.#countOpen(slot, -1);
    this.#states.set(slot, TASK_STATES.indexOf(to));
    this.#stampAnew(slot);
  }

  /** Only for loading from the store, where the transitions were checked when they were made. */
  restoreState(slot: Slot, state: TaskState): void {
    this.#states.set(slot, TASK_STATES.indexOf(state));
    if (isTerminal(state)) this.#countOpen(slot, -1);
  }

  /** The task, and its parent if that is in memory by now, count one more that has not ended. */
  opened(slot: Slot): void {
    const extras = this.#extras[slot];
    // It will wait for the task above with the same key, so that one cannot wait for it.
    if (extras?.isAwaited === true && this.#sharesKeyAbove(slot)) extras.isAwaited = false;
    const parent = extras?.parent ?? null;
    const above = parent === null ? null : this.job(slot).slot(parent);
    if (above !== null) (this.#own(above).children ??= []).push(slot);
    this.#countOpen(slot, 1);
  }

  #sharesKeyAbove(slot: Slot): boolean {
    const key = this.key(slot);
    if (key === null) return false;
    const job = this.job(slot);
    let no = this.parent(slot);
    while (no !== null) {
      const above = job.slot(no);
      if (above === null) return false;
      if (this.key(above) === key) return true;
      no = this.parent(above);
    }
    return false;
  }

  #countOpen(slot: Slot, by: 1 | -1): void {
    const job = this.job(slot);
    job.open += by;
    invariant(job.open >= 0, 'a job has no fewer than no open tasks');
    const { parent, isAwaited } = this.#extras[slot] ?? NO_EXTRAS;
    const above = parent === null || !isAwaited ? null : job.slot(parent);
    if (above === null) return;
    const own = this.#own(above);
    own.openChildren += by;
    invariant(own.openChildren >= 0, 'a task waits for no fewer than no children');
  }

  /** A ready task to which nothing has happened: its job and what its document says is all there is of it. */
  isFresh(slot: Slot): boolean {
    if (this.state(slot) !== 'ready' || this.#extras[slot] !== null) return false;
    if (this.requirement(slot).restriction !== UNRESTRICTED) return false;
    if (this.run.get(slot) !== 1 || this.#terms.get(slot) !== 0) return false;
    const counts = this.attempt.get(slot) + this.failures.get(slot) + this.losses.get(slot);
    const fences = this.fence.get(slot) + this.acceptedFence.get(slot) + this.unmet.get(slot);
    if (counts + fences > 0 || this.progress.get(slot) > 0) return false;
    return this.startedAt.get(slot) === 0 && this.notBefore.get(slot) === 0;
  }

  job(slot: Slot): Job {
    return this.#jobs[slot] as Job;
  }

  id(slot: Slot): TaskId {
    return this.#ids[slot] as TaskId;
  }

  no(slot: Slot): TaskNo {
    return taskNo(this.#numbers.get(slot));
  }

  priority(slot: Slot): number {
    return this.job(slot).options.priority ?? this.#priorities.get(slot);
  }

  requirement(slot: Slot): Requirement {
    return this.#requirements[slot] as Requirement;
  }

  /** While it is neither queued nor leased. */
  setRequirement(slot: Slot, requirement: Requirement): void {
    this.#requirements[slot] = requirement;
  }

  options(slot: Slot): TaskOptions {
    return this.#options[slot] as TaskOptions;
  }

  key(slot: Slot): ExecutionKey | null {
    return this.#extras[slot]?.key ?? null;
  }

  /** The limits that it shares with other tasks. */
  limits(slot: Slot): readonly Limit[] {
    return this.#extras[slot]?.limits ?? NO_LIMITS;
  }

  parent(slot: Slot): TaskNo | null {
    return this.#extras[slot]?.parent ?? null;
  }

  error(slot: Slot): TaskError | null {
    return this.#extras[slot]?.error ?? null;
  }

  setError(slot: Slot, error: TaskError | null): void {
    if (error !== null || this.#extras[slot] !== null) this.#own(slot).error = error;
  }

  exposures(slot: Slot): number {
    return this.#extras[slot]?.exposures ?? 0;
  }

  setExposures(slot: Slot, exposures: number): void {
    if (exposures > 0 || this.#extras[slot] !== null) this.#own(slot).exposures = exposures;
  }

  failedOn(slot: Slot): readonly NodeId[] {
    return this.#extras[slot]?.failedOn ?? NO_NODES;
  }

  setFailedOn(slot: Slot, nodes: readonly NodeId[]): void {
    if (nodes.length > 0 || this.#extras[slot] !== null) this.#own(slot).failedOn = nodes;
  }

  /** Above every fence that was given for the task: that of its lease, and those of duplicates. */
  nextFence(slot: Slot): number {
    return Math.max(this.fence.get(slot), this.#extras[slot]?.reservedFence ?? 0) + 1;
  }

  reserveFence(slot: Slot, fence: number): void {
    this.#own(slot).reservedFence = fence;
  }

  /** Children that have not ended and that the task waits for when it is suspended. */
  openChildren(slot: Slot): number {
    return this.#extras[slot]?.openChildren ?? 0;
  }

  isAdded(slot: Slot): boolean {
    return this.#extras[slot]?.isAdded ?? false;
  }

  /** The tasks that name it as their parent, in the order of their numbers. */
  children(slot: Slot): readonly Slot[] {
    return this.#extras[slot]?.children ?? NO_SLOTS;
  }

  /** The task above that does not end before this one has; null when there is none. */
  awaitedBy(slot: Slot): Slot | null {
    const { parent, isAwaited } = this.#extras[slot] ?? NO_EXTRAS;
    const above = parent === null || !isAwaited ? null : this.job(slot).slot(parent);
    return above === null || isTerminal(this.state(above)) ? null : above;
  }

  waits(slot: Slot): AwaitedThings | null {
    return this.#extras[slot]?.waits ?? null;
  }

  /** Null when it waits for nothing: an empty one is the same. */
  setWaits(slot: Slot, waits: AwaitedThings | null): void {
    const some = waits === null || isEmptyWait(waits) ? null : waits;
    if (some !== null || this.#extras[slot] !== null) this.#own(slot).waits = some;
  }

  /** When this run of the task was created. */
  since(slot: Slot): Instant {
    return this.#extras[slot]?.since ?? this.job(slot).createdAt;
  }

  setSince(slot: Slot, since: Instant): void {
    if (since !== this.since(slot)) this.#own(slot).since = since;
  }

  #own(slot: Slot): Extras {
    return (this.#extras[slot] ??= { ...NO_EXTRAS });
  }

  suspended(slot: Slot): Suspension | null {
    return SUSPENSIONS[this.#suspended.get(slot)] as Suspension | null;
  }

  setSuspended(slot: Slot, suspension: Suspension | null): void {
    this.#suspended.set(slot, SUSPENSIONS.indexOf(suspension));
  }

  /** The term in which the current fence was given; few terms, so a small number a task. */
  term(slot: Slot): TermId | null {
    return this.#termIds[this.#terms.get(slot)] as TermId | null;
  }

  setTerm(slot: Slot, term: TermId | null): void {
    if (term === null) return this.#terms.set(slot, 0);
    let number = this.#termNumbers.get(term);
    if (number === undefined) {
      number = this.#termIds.push(term) - 1;
      this.#termNumbers.set(term, number);
    }
    this.#terms.set(slot, number);
  }

  queue(slot: Slot): JobQueue | null {
    return this.#queues[slot] ?? null;
  }

  setQueue(slot: Slot, queue: JobQueue | null): void {
    this.#queues[slot] = queue;
  }
}
