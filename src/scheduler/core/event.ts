/**
 * Everything that can happen to the scheduler, as one union. Each event is a value: documents are
 * checked, ids are chosen and times are read before it is made.
 */
import type { AwaitedSignal } from './job/waits.ts';
import type { JobDocument, TaskDocument } from './document/document.ts';
import type { StartedBy } from './document/job-options.ts';
import type { Ask, Instant, JobId, NodeId, SessionId, TaskId, TaskNo } from './ids.ts';
import type { NodeOffer } from './node/node.ts';
import type { TaskError, TaskRef } from './rows.ts';
import type { PauseTarget } from './queue/pause.ts';
import type {
  BackfillSchedule,
  ChangeSchedule,
  DeclareSchedules,
  PutSchedule,
} from './schedule/event.ts';
import type { LeaseName } from './task/lease.ts';
import type { JobState, Priority, TerminalState } from './task/chart.ts';

export type { Ask } from './ids.ts';
export type * from './schedule/event.ts';

/** A task that starts its life ended, with a result taken from another job (fork). */
export interface Seed {
  readonly state: TerminalState;
  readonly result: string | null;
}

export interface Submit {
  readonly type: 'submit';
  readonly ask: Ask;
  readonly jobId: JobId;
  readonly document: JobDocument;
  readonly seeds?: ReadonlyMap<TaskNo, Seed>;
  /** Scopes of the document's execution keys that the store knows as completed. */
  readonly completedKeys?: ReadonlySet<string>;
  /** Scopes that the store knows as pending, with the task that executes under each. */
  readonly pendingKeys?: ReadonlyMap<string, TaskRef>;
  /** The inbox row that this job came from: deleted in the same transaction. */
  readonly inboxNo?: number;
  readonly startedBy?: StartedBy;
}

/** Of a list: it names no key, and its id is new. */
export type ListedJob = Pick<Submit, 'jobId' | 'document' | 'startedBy'>;

/** Some such jobs, with one reply for all of them. One that is refused refuses no other. */
export interface SubmitAll {
  readonly type: 'submitAll';
  readonly ask: Ask;
  readonly jobs: readonly ListedJob[];
}

/** An inbox row whose document is not valid: kept as a failed job, so that its owner can see why. */
export interface Reject {
  readonly type: 'reject';
  readonly ask: Ask;
  readonly jobId: JobId;
  readonly name: string;
  readonly error: TaskError;
  readonly inboxNo: number;
}

/** An inbox row whose job is there already: only the row goes. */
export interface DropInbox {
  readonly type: 'dropInbox';
  readonly ask: Ask;
  readonly inboxNo: number;
}

export interface Cancel {
  readonly type: 'cancel';
  readonly ask: Ask;
  readonly jobId: JobId;
  readonly reason: string;
}

/** An ended job was removed from the store: for the log. */
export interface NoteRemoval {
  readonly type: 'noteRemoval';
  readonly ask: Ask;
  readonly jobId: JobId;
  readonly name: string;
}

/** All tasks of a live job that have not ended have this priority from now on. */
export interface SetPriority {
  readonly type: 'setPriority';
  readonly ask: Ask;
  readonly jobId: JobId;
  readonly priority: Priority;
}

/** A live job that waits for its time starts at this one, or now. */
export interface Reschedule {
  readonly type: 'reschedule';
  readonly ask: Ask;
  readonly jobId: JobId;
  /** Null for now, as is any time that has passed. */
  readonly runAt: Instant | null;
}

/** Runs what did not succeed again, as a new generation. The job must be in memory. */
export interface Rerun {
  readonly type: 'rerun';
  readonly ask: Ask;
  readonly jobId: JobId;
  /** Only if the job is at this run: makes a repeated call harmless. */
  readonly expectedRun?: number;
  /** Redrive: only this dead task and what was skipped because of it. */
  readonly taskId?: TaskId;
  /** The results that came with the job, for tasks that are done when it is admitted: it is admitted again, and they
   * are given again. */
  readonly seeds?: ReadonlyMap<TaskNo, Seed>;
}

/** Somebody tells a live job something. A repeated id changes nothing. */
export interface Signal {
  readonly type: 'signal';
  readonly ask: Ask;
  readonly jobId: JobId;
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly body: string;
}

/** Something has happened, as somebody says: tasks that wait for it are woken, and jobs that name it are cancelled. A
 * repeated id wakes no task twice. */
export interface RaiseEvent {
  readonly type: 'raise';
  readonly ask: Ask;
  readonly raised: Raised;
}

export interface Raised {
  readonly name: string;
  readonly id: string;
  /** JSON text. */
  readonly data: string;
}

export interface Register {
  readonly type: 'register';
  readonly ask: Ask;
  readonly offer: NodeOffer;
  /** A session of the same name whose process is proven to be gone. */
  readonly goneSession?: SessionId;
}

interface FromSession {
  readonly ask: Ask;
  readonly nodeId: NodeId;
  readonly sessionId: SessionId;
}

export interface Heartbeat extends FromSession {
  readonly type: 'heartbeat';
  /** Every lease the worker holds, finished but unacknowledged ones included. */
  readonly held: readonly LeaseName[];
  /** The number of the last poll whose answer the worker had taken in when it made this list. */
  readonly seenPoll: number;
  /** The operators that the worker offers now, as `operatorExecutor` names them; absent if it does not say. */
  readonly operators?: readonly string[];
}

export interface PollEvent extends FromSession {
  readonly type: 'poll';
  /** Grows with each poll of the session; an older one that arrives late is ignored. */
  readonly pollNo: number;
  readonly capacity: number;
  /** As in a heartbeat. What was assigned and is not in here was never received: it is resent. */
  readonly held: readonly LeaseName[];
  /** For each of these that the worker reports as ended while the poll is parked, it takes another. */
  readonly refills?: boolean;
}

/** The caller of a parked poll has gone or wants its answer now, empty or not. */
export interface HangUp {
  readonly type: 'hangUp';
  readonly nodeId: NodeId;
  readonly sessionId: SessionId;
  readonly pollNo: number;
}

/** Why an attempt failed. `missing`: the node lacks something that it promised. */
export type FailureClass = 'retryable' | 'fatal' | 'missing';

export type ReportItem =
  | { readonly kind: 'started'; readonly lease: LeaseName }
  | {
      readonly kind: 'progress';
      readonly lease: LeaseName;
      readonly fraction: number;
      readonly note: string | null;
    }
  | {
      readonly kind: 'step';
      readonly lease: LeaseName;
      readonly name: string;
      readonly body: string;
      /** The step is that this job was submitted: both are there, or neither. Nobody waits for it. */
      readonly job?: SubmittedJob;
      /** The step is that this event was sent. */
      readonly sent?: SentFromTask;
    }
  | { readonly kind: 'completed'; readonly lease: LeaseName; readonly result: string | null }
  | {
      readonly kind: 'failed';
      readonly lease: LeaseName;
      readonly error: TaskError;
      readonly failure: FailureClass;
      /** For `missing`: what it lacks, if not the task's own executor. */
      readonly missing?: string;
      /** For `retryable`: how long to wait before the next attempt, instead of the back-off. */
      readonly retryAfterMs?: number;
    }
  /** Its inputs are lost: those outputs are recomputed, and the task waits for them. */
  | {
      readonly kind: 'inputLost';
      readonly lease: LeaseName;
      readonly lost: readonly LostOutput[];
      readonly error: TaskError;
    }
  /** The handler was aborted as ordered. */
  | { readonly kind: 'aborted'; readonly lease: LeaseName }
  /** Given back unfinished: drain, or never started. Counts as nothing. */
  | { readonly kind: 'released'; readonly lease: LeaseName }
  /** Its condition does not hold. Said by the leader itself, when it has read the results. */
  | { readonly kind: 'skipped'; readonly lease: LeaseName; readonly reason: string }
  | { readonly kind: 'suspended'; readonly lease: LeaseName; readonly until: SuspendUntil };

/** An output, by the assignment that made it. One that was recomputed since is not meant. */
export interface LostOutput {
  readonly taskId: TaskId;
  readonly fence: number;
}

export type SuspendUntil =
  | ({ readonly type: 'wait' } & Wait)
  | ({ readonly type: 'children'; readonly tasks: readonly TaskDocument[] } & Pick<
      Submit,
      'completedKeys' | 'pendingKeys'
    >);

/** What a handler waits for: the first of it that comes wakes the task. Each thing leaves a step
 * under its name, and one that has left its step already is there at once. */
export interface Wait {
  /** A duration, by the database's clock: a node's own clock decides nothing. The step records its end, `{"until":
   * MS}`, and is written when the wait begins. */
  readonly sleeps: readonly { readonly step: string; readonly forMs: number }[];
  /** The next untaken signal of this name. The step is its body. */
  readonly signals: readonly AwaitedSignal[];
  /** Another job, which is submitted unless it is there. The step is `{"jobId", "state"}`. */
  readonly jobs: readonly ChildJob[];
}

/** A job that a task submits and does not wait for. */
export interface SubmittedJob extends Pick<ChildJob, 'jobId' | 'ended'>, KeysInStore {
  readonly document: JobDocument;
}

/** An event that a task sends, with a job for each flow that it starts. */
export interface SentFromTask {
  readonly raised: Raised;
  readonly jobs: readonly SubmittedJob[];
}

type KeysInStore = Pick<Submit, 'completedKeys' | 'pendingKeys'>;

/** A job that a task submits and waits for. */
export interface ChildJob extends KeysInStore {
  readonly step: string;
  readonly jobId: JobId;
  /** Null for one that has to be made first: `AnswerCall` brings it. */
  readonly document: JobDocument | null;
  /** Its state in the store, if it is there; null when it is not. Looked up while the memory takes notes
   * (`takeNotes`): one that ends between the look and this event is known to have. */
  readonly ended: JobState | null;
}

/** A called job that had to be planned first, or why it cannot be. Ignored if its caller does not wait any more. */
export interface AnswerCall extends Pick<Submit, 'seeds' | 'completedKeys' | 'pendingKeys'> {
  readonly type: 'answerCall';
  readonly ask: Ask;
  readonly jobId: JobId;
  readonly made:
    | { readonly document: JobDocument; readonly error: null }
    | { readonly name: string; readonly error: TaskError };
}

export interface Report extends FromSession {
  readonly type: 'report';
  readonly items: readonly ReportItem[];
}

/** The worker says goodbye: what it still holds goes back uncounted. */
export interface Leave extends FromSession {
  readonly type: 'leave';
}

/** Proof from outside that the session's process is gone. */
export interface SessionGone {
  readonly type: 'sessionGone';
  readonly nodeId: NodeId;
  readonly sessionId: SessionId;
}

export interface Drain {
  readonly type: 'drain';
  readonly ask: Ask;
  readonly nodeId: NodeId;
}

/** Takes a node out of quarantine, and out of a drain. */
export interface ReleaseNode {
  readonly type: 'releaseNode';
  readonly ask: Ask;
  readonly nodeId: NodeId;
}

/** Tasks of an executor, or with a limit of this key, are not started any more. Those that run go on. */
export interface PauseQueue {
  readonly type: 'pauseQueue';
  readonly ask: Ask;
  readonly target: PauseTarget;
  /** For people. */
  readonly reason: string | null;
}

export interface ResumeQueue {
  readonly type: 'resumeQueue';
  readonly ask: Ask;
  readonly target: PauseTarget;
}

/** The leader has decided what a task answers that no node runs. Ignored if the task does not wait for that any more. */
export interface Decide extends TaskRef {
  readonly type: 'decide';
  readonly run: number;
  readonly decision:
    | {
        /** JSON text. */
        readonly result: string;
        /** For the log: what it was decided from. */
        readonly detail: Readonly<Record<string, unknown>>;
        /** Tasks that have nothing to do because of it, and what they answer. */
        readonly done: readonly { readonly taskId: TaskId; readonly result: string }[];
      }
    | { readonly error: TaskError };
}

/** Match ready tasks with waiting polls and answer them. Fed once before every commit. */
export interface Assign {
  readonly type: 'assign';
}

/** Time has passed: whatever is due by `now` happens. */
export interface Tick {
  readonly type: 'tick';
}

export type SchedulerEvent =
  | Submit
  | SubmitAll
  | Reject
  | DropInbox
  | Cancel
  | SetPriority
  | Reschedule
  | NoteRemoval
  | Rerun
  | Signal
  | RaiseEvent
  | AnswerCall
  | Register
  | Heartbeat
  | PollEvent
  | HangUp
  | Report
  | Leave
  | SessionGone
  | Drain
  | ReleaseNode
  | PutSchedule
  | DeclareSchedules
  | BackfillSchedule
  | ChangeSchedule
  | PauseQueue
  | ResumeQueue
  | Decide
  | Assign
  | Tick;
