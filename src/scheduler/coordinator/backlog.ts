/**
 * Waiting inputs, in order, bounded by events and by bytes. A batch takes a limited number of bytes, so that the time
 * of a commit is predictable. Large submissions have their own queue. Each is a batch by itself, alternating with
 * batches of small events: a small event waits for one large commit at most.
 */
import type { MillraceError, SchedulerEvent } from '../core/index.ts';
import type { CommitBatch, Input } from './commit-batch.ts';
import { overloaded } from './faults.ts';
import { eventsIn, isLarge, weightOf } from './weight.ts';

export interface BacklogLimits {
  /** Events that may wait before callers are refused as overload. */
  readonly eventsMax: number;
  /** Bytes of small events, and of large submissions, that may wait or be written. */
  readonly smallBytesMax: number;
  readonly largeBytesMax: number;
}

export const defaultBacklogLimits: BacklogLimits = {
  eventsMax: 10_000,
  smallBytesMax: 64 * 1024 * 1024,
  largeBytesMax: 128 * 1024 * 1024,
};

/** A batch of this size takes no more. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** Sessions must be heard even when clients flood the leader, or leases would be lost to load. */
const SESSION_SHARE = 4;

type Bytes = Pick<CommitBatch, 'smallBytes' | 'largeBytes'>;
type Counted = Bytes & Pick<CommitBatch, 'events'>;

export class Backlog {
  readonly #limits: BacklogLimits;
  #inputs: Input[] = [];
  #next = 0;
  readonly #large: Input[] = [];
  #counted = { events: 0, smallBytes: 0, largeBytes: 0 };
  /** The batch before took a large one. */
  #wasLarge = false;

  constructor(limits: BacklogLimits) {
    this.#limits = limits;
  }

  get events(): number {
    return this.#counted.events;
  }

  get isEmpty(): boolean {
    return this.#next === this.#inputs.length && this.#large.length === 0;
  }

  /** How full it is together with the open batch: 1 is when callers are refused. */
  pressure(open: Counted): number {
    const { eventsMax, smallBytesMax } = this.#limits;
    const smallBytes = this.#counted.smallBytes + open.smallBytes;
    return Math.max((this.events + open.events) / eventsMax, smallBytes / smallBytesMax);
  }

  /** How many more events may wait. */
  room(open: Counted): number {
    return this.#limits.eventsMax - this.events - open.events;
  }

  /** Why the event cannot wait here; null when it can. Bytes count until they are committed. */
  refusal(
    event: SchedulerEvent,
    open: Counted,
    writing: Bytes,
    bytes: number = weightOf(event),
  ): MillraceError | null {
    const { eventsMax, smallBytesMax, largeBytesMax } = this.#limits;
    const share = 'sessionId' in event || event.type === 'register' ? SESSION_SHARE : 1;
    const events = this.events + open.events;
    const waiting = this.#counted;
    const small = waiting.smallBytes + open.smallBytes + writing.smallBytes;
    const large = waiting.largeBytes + open.largeBytes + writing.largeBytes;
    // One that is larger than the limit has to be possible, alone.
    const isFull = isLarge(event, bytes)
      ? large > 0 && large + bytes > largeBytesMax
      : small > 0 && small + bytes > smallBytesMax * share;
    return isFull || events >= eventsMax * share ? overloaded(events, small + large) : null;
  }

  push(input: Input): void {
    if (input.kind === 'event' && isLarge(input.event, input.bytes)) {
      this.#large.push(input);
      this.#counted.largeBytes += input.bytes;
    } else {
      this.#inputs.push(input);
      if (input.kind === 'event') this.#counted.smallBytes += input.bytes;
    }
    if (input.kind === 'event') this.#counted.events += eventsIn(input.event);
  }

  /** What goes into the batch next; null when it should take no more. */
  take(batch: CommitBatch): Input | null {
    if (batch.smallBytes >= BATCH_BYTES_MAX || batch.largeBytes > 0) return null;
    const input = this.#isLargeDue(batch) ? (this.#large.shift() ?? null) : this.#takeSmall();
    if (input?.kind === 'event') {
      this.#counted.events -= eventsIn(input.event);
      if (isLarge(input.event, input.bytes)) this.#counted.largeBytes -= input.bytes;
      else this.#counted.smallBytes -= input.bytes;
    }
    return input;
  }

  closed({ largeBytes }: Bytes): void {
    this.#wasLarge = largeBytes > 0;
  }

  all(): Input[] {
    return [...this.#inputs.slice(this.#next), ...this.#large];
  }

  clear(): void {
    this.#inputs = [];
    this.#next = 0;
    this.#large.length = 0;
    this.#counted = { events: 0, smallBytes: 0, largeBytes: 0 };
  }

  #takeSmall(): Input | null {
    const input = this.#inputs[this.#next];
    if (input === undefined) return null;
    this.#next += 1;
    if (this.#next === this.#inputs.length) {
      this.#inputs = [];
      this.#next = 0;
    }
    return input;
  }

  /** Alone in its batch, alternating with small events. */
  #isLargeDue({ inputs }: CommitBatch): boolean {
    if (this.#large.length === 0 || inputs.length > 0) return false;
    return !this.#wasLarge || this.#next === this.#inputs.length;
  }
}
