/** What one shard holds: plain maps, and the few indexes that keep a commit as cheap as its batch. */
import {
  type EventRow,
  type Instant,
  instant,
  type JobId,
  type JobNo,
  type JobRow,
  jobNo,
  type KeyRow,
  type LimitRow,
  type NodeId,
  type NodeRow,
  type DeclarationKind,
  type DeclarationRow,
  type ScheduleId,
  type ScheduleRow,
  type SignalRow,
  type TaskId,
  type TaskNo,
  type TaskRow,
  type TaskSpecRow,
  type TermId,
} from '../../core/index.ts';
import type { JournalRecord } from '../journal/port.ts';
import type { Counters, InboxRow, LeaderInfo, Term } from '../store.ts';

export interface LeaderTerm extends LeaderInfo {
  readonly released: boolean;
}

/** A term, and where the history was when it began. */
export interface TermStart {
  readonly term: TermId;
  readonly since: Counters;
}

export interface TaskRecord {
  readonly spec: TaskSpecRow;
  task: TaskRow | null;
  /** Rows of earlier runs, oldest first. Most tasks have no history and no steps: null saves a map. */
  history: TaskRow[] | null;
  results: Map<number, string> | null;
  steps: Map<number, Map<string, string>> | null;
}

export interface JobSignals {
  readonly byNo: Map<number, SignalRow>;
  /** A sender's id is taken in once. */
  readonly nos: Map<string, number>;
}

export interface JobRecord {
  row: JobRow;
  readonly tasks: Map<TaskNo, TaskRecord>;
  readonly taskNos: Map<TaskId, TaskNo>;
  /** Scopes of the idempotency keys that its tasks name. */
  scopes: Set<string> | null;
  /** Most jobs have none. */
  signals: JobSignals | null;
}

export interface Shard {
  readonly no: number;
  leaderTerm: LeaderTerm | null;
  /** Oldest first. */
  terms: TermStart[];
  /** What the tables have: commits that are only in the journal do not count. */
  commitNo: number;
  /** See `JournalState`; null when it is `commitNo`. */
  settledNo: number | null;
  lastSeq: number;
  nextJobNo: JobNo;
  /** Commits that the tables do not have yet, oldest first. */
  journal: (JournalRecord & Counters)[];
  readonly jobs: Map<JobNo, JobRecord>;
  readonly live: Set<JobNo>;
  readonly jobNos: Map<JobId, JobNo>;
  readonly jobNosByKey: Map<string, JobNo>;
  readonly keys: Map<string, KeyRow>;
  readonly nodes: Map<NodeId, NodeRow>;
  readonly schedules: Map<ScheduleId, ScheduleRow>;
  readonly limits: Map<string, LimitRow>;
  readonly declarations: Readonly<Record<DeclarationKind, Map<string, DeclarationRow>>>;
  readonly inbox: Map<number, InboxRow>;
  /** Contiguous: the event at index i has the number `events[0].seq + i`. */
  events: EventRow[];
}

export function emptyShard(no: number): Shard {
  return {
    no,
    leaderTerm: null,
    terms: [],
    commitNo: 0,
    settledNo: null,
    lastSeq: 0,
    nextJobNo: jobNo(1),
    journal: [],
    jobs: new Map(),
    live: new Set(),
    jobNos: new Map(),
    jobNosByKey: new Map(),
    keys: new Map(),
    nodes: new Map(),
    schedules: new Map(),
    limits: new Map(),
    declarations: { operator: new Map(), flow: new Map() },
    inbox: new Map(),
    events: [],
  };
}

/** The number of the oldest event that is still kept, or of the next one when none is. */
export function firstSeq(shard: Shard): number {
  return shard.events[0]?.seq ?? shard.lastSeq + 1;
}

export const expired = (leaderTerm: LeaderTerm, now: Instant): boolean =>
  leaderTerm.expiresAt <= now;
export const until = (now: Instant, ttlMs: number): Instant => instant(now + ttlMs);

/** Nothing was ever stored in it. */
export function isEmpty(shard: Shard): boolean {
  const { lastSeq, nextJobNo, jobs, keys, nodes, schedules, limits, declarations, inbox } = shard;
  const declared = declarations.operator.size + declarations.flow.size;
  const named = nodes.size + schedules.size + limits.size + declared;
  return lastSeq === 0 && nextJobNo === 1 && jobs.size + keys.size + named + inbox.size === 0;
}

export function isTermOf(leaderTerm: LeaderTerm, term: Term): boolean {
  return !leaderTerm.released && leaderTerm.epoch === term.epoch && leaderTerm.term === term.id;
}

export function infoOf({ nodeId, url, grpc, epoch, term, expiresAt }: LeaderTerm): LeaderInfo {
  return { nodeId, url, grpc, epoch, term, expiresAt };
}
