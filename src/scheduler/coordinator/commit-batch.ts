import { Effects } from '../core/index.ts';
import type {
  Ask,
  Instant,
  JobImage,
  MillraceError,
  SchedulerEvent,
  SchedulerState,
} from '../core/index.ts';
import type { PendingReplies } from './pending-replies.ts';
import { eventsIn, isLarge } from './weight.ts';

/** What an event comes with, see `Input`. */
export interface AskOptions {
  readonly generation?: number;
  readonly images?: readonly JobImage[];
}

/** The inputs of the dispatcher. Kept with their batch, so that they can be applied again. */
export type Input =
  | {
      readonly kind: 'event';
      readonly event: SchedulerEvent;
      readonly ask: Ask | null;
      /** See `weightOf`. */
      readonly bytes: number;
      /** Jobs that are brought into memory for it. */
      readonly images: readonly JobImage[];
      /** The memory that it was made for, when it rests on what was read from the store. */
      readonly generation?: number;
    }
  | {
      readonly kind: 'read';
      /** Looks at the state; what it answers is called once that state is committed. */
      readonly look: (state: SchedulerState, now: Instant) => () => void;
      readonly refuse: (why: MillraceError) => void;
      /** The answer promises that what was found is durable. */
      readonly isPromise: boolean;
    }
  | {
      readonly kind: 'restore';
      readonly images: readonly JobImage[];
      /** The memory that the images were read for. */
      readonly generation: number;
      /** Called with whether they were restored. */
      readonly done: (taken: boolean) => void;
      readonly refuse: (why: MillraceError) => void;
    };

/** One batch of the group commit: inputs that share a transaction, their effects, and the callbacks after it. */
export class CommitBatch {
  readonly effects: Effects;
  readonly inputs: Input[] = [];
  events = 0;
  /** Of events; those of a large submission are counted apart. */
  smallBytes = 0;
  largeBytes = 0;
  readonly #afterwards: (() => void)[] = [];

  constructor(effects: Effects = new Effects()) {
    this.effects = effects;
  }

  static of(input: Input): CommitBatch {
    const batch = new CommitBatch();
    batch.add(input);
    return batch;
  }

  add(input: Input): void {
    this.inputs.push(input);
    if (input.kind !== 'event') return;
    this.events += eventsIn(input.event);
    if (isLarge(input.event, input.bytes)) this.largeBytes += input.bytes;
    else this.smallBytes += input.bytes;
  }

  /** An answer without a change may rest on an earlier commit, which a rewound store does not have. */
  get makesPromises(): boolean {
    return (
      this.effects.hasPromises ||
      this.inputs.some((input) => input.kind === 'read' && input.isPromise)
    );
  }

  /** Nothing to write and no caller to answer. */
  get isIdle(): boolean {
    return this.effects.isEmpty && !this.effects.hasReplies && this.#afterwards.length === 0;
  }

  whenCommitted(act: () => void): void {
    this.#afterwards.push(act);
  }

  committed(): void {
    for (const act of this.#afterwards) act();
  }

  refuse(why: MillraceError, replies: PendingReplies): void {
    for (const input of this.inputs) {
      if (input.kind !== 'event') input.refuse(why);
      else if (input.ask !== null) replies.refuse(input.ask, why);
    }
  }
}
