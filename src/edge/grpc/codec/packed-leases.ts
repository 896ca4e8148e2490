/** Leases in packed rows, and the list of those that a worker holds, of which a stream carries only the changes. */
import {
  MillraceError,
  RenewedMap,
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

interface SentLease {
  readonly number: number;
  /** The last change that it was held at. */
  heldAt: number;
}

/** What was sent on one stream of the leases that are held here. */
export class SentLeases {
  readonly #known: RenewedMap<LeaseName, SentLease> = new RenewedMap();
  readonly #numbers = new LeaseNumbers();
  #changes = 0;

  /** What has changed. It counts once `sent` is called, before the next change is asked for. */
  change(held: readonly LeaseName[]): HeldChange & { readonly sent: () => void } {
    this.#changes += 1;
    const heldAt = this.#changes;
    const added = new Set<LeaseName>();
    for (const lease of held) {
      const known = this.#known.get(lease);
      if (known === undefined) added.add(lease);
      else known.heldAt = heldAt;
    }
    const gone: LeaseName[] = [];
    const removed: number[] = [];
    for (const [lease, known] of this.#known.entries()) {
      if (known.heldAt === heldAt) continue;
      gone.push(lease);
      removed.push(known.number);
    }
    return {
      added: added.size === 0 ? NO_BYTES : packLeases([...added]),
      removed,
      sent: () => {
        for (const lease of added) this.#known.set(lease, { number: this.#numbers.next(), heldAt });
        for (const lease of gone) this.#known.delete(lease);
        for (const number of removed) this.#numbers.release(number);
      },
    };
  }
}

/** What the worker on one stream has said of the leases that it holds. */
export class HeldLeases {
  readonly #leases: RenewedMap<number, LeaseName> = new RenewedMap();
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
    for (const lease of more) this.#leases.set(this.#numbers.next(), lease);
    this.#room.leases -= more.length;
    for (const number of removed) {
      if (!this.#leases.delete(number)) {
        refuse('removed', `There is no lease with the number ${number}.`);
      }
      this.#numbers.release(number);
      this.#room.leases += 1;
    }
    if (this.#leases.size > HELD_MAX) refuse('added', `${this.#leases.size} leases are too many.`);
    return [...this.#leases.values()];
  }
  /** The stream is over. */
  end(): void {
    this.#room.leases += this.#leases.size;
    this.#leases.clear();
  }
}

function noRoom(): MillraceError {
  return new MillraceError({
    code: 'overloaded',
    what: `The streams of all workers together hold more than ${HELD_BY_ALL_MAX} leases.`,
    todo: 'Use GetTask, which names all that is held in each call.',
  });
}
