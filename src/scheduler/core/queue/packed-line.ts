import type { Instant, JobNo } from '../ids.ts';

/** How many are made ready for their turn at a time: each look at the heap costs as much as one of them. */
const AT_ONCE = 32;

/** The packed jobs of a lane, in the order of their turns: see `job/packed-jobs.ts`. */
export interface PackedSource {
  virtualTime(entry: number): number;
  jobNo(entry: number): JobNo;
  queuedAt(entry: number): Instant;
  /** Brings the job of the entry into its lane, where it takes its turn like any other. */
  unpack(entry: number): void;
}

/** Stands in the lane's heap for the first of its packed jobs. */
export class PackedLine {
  readonly #source: PackedSource;
  /** The ends of a list whose links the source has. */
  head = 0;
  tail = 0;
  size = 0;
  /** Of the job that was first when the line came into the heap. */
  virtualTime = 0;
  no = 0;
  isIn = false;

  constructor(source: PackedSource) {
    this.#source = source;
  }

  /** When the first of them was queued: the oldest of all, since those that had begun are not packed. */
  get firstQueuedAt(): Instant | null {
    return this.size === 0 ? null : this.#source.queuedAt(this.head);
  }

  /** Whether a job may stand behind all others. */
  isLast(virtualTime: number, no: JobNo): boolean {
    if (this.size === 0) return true;
    const last = this.#source.virtualTime(this.tail);
    return last < virtualTime || (last === virtualTime && this.#source.jobNo(this.tail) < no);
  }

  /** Before it comes into the heap. */
  refresh(): void {
    this.virtualTime = this.#source.virtualTime(this.head);
    this.no = this.#source.jobNo(this.head);
  }

  /** The turn of the first one has come. */
  unpackFirst(): void {
    for (let count = 0; count < AT_ONCE && this.size > 0; count += 1) {
      this.#source.unpack(this.head);
    }
  }
}
