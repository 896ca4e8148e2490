/** The messages between the main thread and a thread that runs tasks. A thread runs one attempt at a time; attempts
 * are numbered, and a late message for an old one is ignored. */
import type { Json } from '../../../scheduler/core/index.ts';
import type { Duration } from '../../../kit/index.ts';
import type { EventSend, MapOptions, TaskContext, TaskLog } from '../executor.ts';
import type { OneEvent, OneSignal } from '../matching-signal.ts';
import type { NewJobOptions } from '../submit-options.ts';
import type { PackedError } from './error-post.ts';

/** A task in a module. */
export interface ThreadTask {
  /** A file URL. */
  readonly module: string;
  readonly name: string;
}

/** The part of a context that is plain values. */
export type ContextFacts = Pick<
  TaskContext,
  | 'jobId'
  | 'taskId'
  | 'attempt'
  | 'run'
  | 'fence'
  | 'idempotencyKey'
  | 'scheduledAt'
  | 'startedBy'
  | 'labels'
  | 'traceHeaders'
>;

export type Outcome =
  | { readonly isOk: true; readonly value: unknown }
  | { readonly isOk: false; readonly error: PackedError };

export type ToThread = { readonly attempt: number } & (
  | {
      readonly type: 'run';
      readonly task: ThreadTask;
      readonly input: Json;
      readonly facts: ContextFacts;
    }
  | { readonly type: 'abort'; readonly reason: PackedError }
  /** To a request. The thread says `took` when the handler had the chance to go on. */
  | { readonly type: 'answer'; readonly no: number; readonly outcome: Outcome }
  /** To run the function that came with a request. */
  | { readonly type: 'ask'; readonly no: number; readonly args: readonly unknown[] }
  /** Suspended: the attempt is not waited for any more. */
  | { readonly type: 'drop' }
);

/** What a handler asks of its context and waits for. Functions stay where they are. */
export type Request =
  | { readonly member: 'step'; readonly name: string }
  | { readonly member: 'sleep'; readonly name: string; readonly until: Duration | Date }
  | { readonly member: 'waitFor'; readonly name: string; readonly options: OneSignal }
  | {
      readonly member: 'waitForEvent';
      readonly name: string;
      readonly event: string;
      readonly options: OneEvent;
    }
  /** A signal did not fit the schema, which only the thread has. */
  | {
      readonly member: 'unfit';
      readonly name: string;
      readonly step: string;
      readonly why: string;
    }
  | {
      readonly member: 'call';
      readonly name: string;
      readonly what: string;
      readonly document: unknown;
    }
  | {
      readonly member: 'submit';
      readonly name: string;
      readonly what: string;
      readonly document: unknown;
      readonly options: NewJobOptions | undefined;
    }
  | {
      readonly member: 'send';
      readonly name: string;
      readonly event: string;
      readonly data: unknown;
      readonly options: EventSend | undefined;
    }
  | {
      readonly member: 'map';
      readonly name: string;
      readonly what: string;
      readonly tasks: readonly Readonly<Record<string, unknown>>[];
      readonly options: MapOptions | undefined;
    }
  | {
      readonly member: 'completeWith';
      /** Which functions and fields the transaction has. */
      readonly has: readonly string[];
      readonly result: unknown;
    };

export type Word =
  | { readonly type: 'request'; readonly no: number; readonly request: Request }
  /** What the function of a request came to. */
  | { readonly type: 'answer'; readonly no: number; readonly outcome: Outcome }
  | { readonly type: 'took'; readonly no: number }
  | { readonly type: 'progress'; readonly fraction: number; readonly note: string | undefined }
  | {
      readonly type: 'log';
      readonly level: keyof TaskLog;
      readonly message: string;
      readonly fields: string | undefined;
    }
  /** The value is JSON text. */
  | { readonly type: 'end'; readonly outcome: Outcome };

/** Messages of one turn of the event loop are sent together: requests that are made together must arrive together. */
export interface FromThread {
  readonly attempt: number;
  readonly words: readonly Word[];
}
