/** Leases in packed rows, and the list of those that a worker holds, of which a stream carries only the changes. */
import {
  MillraceError,
  TASKS_PER_JOB_LIMIT,
  jobNo,
  taskNo,
} from '../../../scheduler/core/index.ts';
import type { JobId, LeaseName } from '../../../scheduler/core/index.ts';
import { PackedRows, ReadRows } from './packed-rows.ts';
import { refuse, shortText } from './values.ts';

const JOB_NO = 0;
const FENCE = 8;
const TASK_NO = 16;
const TERM = 20;
const JOB_ID = 24;
/** Other columns may follow. */
export const LEASE_BYTES = 28;

export function packLease(rows: PackedRows, at: number, lease: LeaseName): void {
  rows.whole(at + JOB_NO, lease.jobNo, 'lease/job_no');
  rows.whole(at + FENCE, lease.fence, 'lease/fence');
  rows.u32(at + TASK_NO, lease.taskNo);
  rows.u32(at + TERM, rows.name(lease.term));
  rows.u32(at + JOB_ID, rows.text(lease.jobId));
}

export function readLease(rows: ReadRows, at: number): LeaseName {
  const no = rows.u32(at + TASK_NO);
  if (no >= TASKS_PER_JOB_LIMIT) {
    refuse('lease/task_no', `${no} exceeds the limit of tasks per job.`);
  }
  const jobId = rows.text(rows.u32(at + JOB_ID), 'lease/job_id');
  if (jobId === '') refuse('lease/job_id', 'It is missing.');
  return {
    jobNo: jobNo(rows.whole(at + JOB_NO, 'lease/job_no')),
    taskNo: taskNo(no),
    fence: rows.whole(at + FENCE, 'lease/fence'),
    term: shortText(
      rows.name(rows.u32(at + TERM), 'lease/term') as LeaseName['term'],
      'lease/term',
    ),
    jobId: shortText(jobId as JobId, 'lease/job_id'),
  };
}

export function packLeases(leases: readonly LeaseName[]): Buffer {
  const rows = new PackedRows(LEASE_BYTES, leases.length);
  for (const lease of leases) packLease(rows, rows.next(), lease);
  return rows.finish();
}

function readLeases(bytes: Buffer, field: string, countMax: number): LeaseName[] {
  if (bytes.length === 0) return [];
  const rows = new ReadRows(bytes, LEASE_BYTES, field, countMax);
  const leases: LeaseName[] = [];
  for (let no = 0; no < rows.count; no += 1) leases.push(readLease(rows, rows.row(no)));
  rows.end();
  return leases;
}

export interface HeldChange {
  readonly added: Buffer;
  readonly removed: number[];
}

/** Kept for as long as the stream lives, so less than a message may have. Who holds more sends plain polls. */
export const HELD_MAX = 20_000;

/** For all streams of a server together: more than a cluster holds at any moment, and about 300 MB. */
const HELD_BY_ALL_MAX = 1_000_000;

/** What streams may still keep. */
export interface HeldRoom {
  leases: number;
}

export function heldRoom(): HeldRoom {
  return { leases: HELD_BY_ALL_MAX };
}

const NO_BYTES: Buffer = Buffer.alloc(0);

/** Numbers for the leases of one stream, the same at both ends: one that is free again is used again, the last one first. */
class LeaseNumbers {
  readonly #free: number[] = [];
  #last = 0;

  /** From 1 on. */
  next(): number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    this.#last += 1;
    return this.#last;
  }

  release(number: number): void {
    this.#free.push(number);
  }
}

/** What was sent on one stream of the leases that are held here. */
export class SentLeases {
  #known: readonly LeaseName[] = [];
  /** Of each of those. */
  #numbersOf: readonly number[] = [];
  readonly #numbers = new LeaseNumbers();

  /**
   * What has changed. It counts once `sent` is called, before the next change is asked for. Leases are held in the order in
   * which they came, so both lists are walked side by side. One that has changed its place is removed and added again.
   */
  change(held: readonly LeaseName[]): HeldChange & { readonly sent: () => void } {
    const still: LeaseName[] = [];
    const numbers: number[] = [];
    const removed: number[] = [];
    for (let at = 0; at < this.#known.length; at += 1) {
      const lease = this.#known[at] as LeaseName;
      const number = this.#numbersOf[at] as number;
      if (lease === held[still.length]) {
        still.push(lease);
        numbers.push(number);
      } else removed.push(number);
    }
    const added = held.slice(still.length);
    return {
      added: added.length === 0 ? NO_BYTES : packLeases(added),
      removed,
      sent: () => {
        for (const lease of added) {
          still.push(lease);
          numbers.push(this.#numbers.next());
        }
        for (const number of removed) this.#numbers.release(number);
        this.#known = still;
        this.#numbersOf = numbers;
      },
    };
  }
}

/** What the worker on one stream has said of the leases that it holds. */
export class HeldLeases {
  /** By their numbers. */
  readonly #leases: (LeaseName | undefined)[] = [];
  #size = 0;
  readonly #numbers = new LeaseNumbers();
  readonly #room: HeldRoom;

  /** `room` is shared by all streams. */
  constructor(room: HeldRoom = heldRoom()) {
    this.#room = room;
  }

  /** All that are held after the change. */
  after({ added, removed }: HeldChange): readonly LeaseName[] {
    const more = readLeases(added, 'added', HELD_MAX);
    if (more.length > this.#room.leases) throw noRoom();
    for (const lease of more) this.#leases[this.#numbers.next()] = lease;
    this.#size += more.length;
    this.#room.leases -= more.length;
    for (const number of removed) {
      if (this.#leases[number] === undefined) {
        refuse('removed', `There is no lease with the number ${number}.`);
      }
      this.#leases[number] = undefined;
      this.#numbers.release(number);
      this.#size -= 1;
      this.#room.leases += 1;
    }
    if (this.#size > HELD_MAX) refuse('added', `${this.#size} leases are too many.`);
    return this.#leases.filter((lease) => lease !== undefined);
  }

  /** The stream is over. */
  end(): void {
    this.#room.leases += this.#size;
    this.#leases.length = 0;
    this.#size = 0;
  }
}

function noRoom(): MillraceError {
  return new MillraceError({
    code: 'overloaded',
    what: `The streams of all workers together hold more than ${HELD_BY_ALL_MAX} leases.`,
    todo: 'Use GetTask, which names all that is held in each call.',
  });
}
