/**
 * The leases that a session holds, in memory that two threads share: the main thread writes, and the heartbeat thread
 * reads when a beat is due, even while a handler blocks the main thread. A message for every change would wake the
 * other thread up, and cost more than many a task.
 *
 * A row is written before its number is, and the last poll after the rows that it brought. So a reader that looks at the poll
 * first finds every lease of it that is still held. A row that gets another number while it is read was given up meanwhile, and
 * what it holds now is of a later poll: the reader leaves it out.
 */
import { ID_LENGTH_MAX, jobNo, taskNo } from '../../scheduler/core/index.ts';
import type { LeaseName } from '../../scheduler/core/index.ts';

const HEADER_BYTES = 8;

/** What changes most is kept apart from the rows, two numbers for each of them side by side: these stay in the processor's cache. */
const NUMBERS = 2;
const NUMBERS_BYTES = NUMBERS * Int32Array.BYTES_PER_ELEMENT;
/** Counts up with each lease that takes the row; 0 while the row is free. */
const NUMBER = 0;
const IS_RUNNING = 1;

const TASK_NO = 0;
const JOB_ID_BYTES = 4;
const TERM_BYTES = 8;
const JOB_NO = 16;
const FENCE = 24;
const TEXTS = 32;
/** No character takes more bytes than three. */
const TEXT_BYTES = ID_LENGTH_MAX * 3;
const ROW_BYTES = TEXTS + TEXT_BYTES * 2;

const NUMBER_MAX = 2 ** 31 - 1;

export class HeldTable {
  #buffer: SharedArrayBuffer;
  #memory: Memory;
  readonly #free: number[] = [];
  /** What stands in each row: leases of a session have one term, seldom two. */
  readonly #terms: (LeaseName['term'] | undefined)[] = [];
  readonly #onMoved: (buffer: SharedArrayBuffer) => void;
  #lastNumber = 0;

  /** With so many rows at first, or over the memory of another one. `onMoved` gets what takes its place when it is full. */
  constructor(
    given: number | SharedArrayBuffer,
    onMoved: (buffer: SharedArrayBuffer) => void = () => {},
  ) {
    this.#buffer = typeof given === 'number' ? bufferFor(Math.max(1, given)) : given;
    this.#memory = new Memory(this.#buffer);
    this.#onMoved = onMoved;
    this.#freeFrom(0);
  }

  get buffer(): SharedArrayBuffer {
    return this.#buffer;
  }

  /** Returns its row, until it leaves. */
  hold(lease: LeaseName): number {
    const row = this.#free.pop() ?? this.#grown();
    const { view, bytes, numbers } = this.#memory;
    const at = this.#memory.rowAt(row);
    view.setUint32(at + TASK_NO, lease.taskNo, true);
    view.setFloat64(at + JOB_NO, lease.jobNo, true);
    view.setFloat64(at + FENCE, lease.fence, true);
    const text = at + TEXTS;
    view.setUint32(at + JOB_ID_BYTES, bytes.write(lease.jobId, text, TEXT_BYTES), true);
    if (this.#terms[row] !== lease.term) {
      const length = bytes.write(lease.term, text + TEXT_BYTES, TEXT_BYTES);
      view.setUint32(at + TERM_BYTES, length, true);
      this.#terms[row] = lease.term;
    }
    this.#lastNumber = this.#lastNumber === NUMBER_MAX ? 1 : this.#lastNumber + 1;
    Atomics.store(numbers, row * NUMBERS + NUMBER, this.#lastNumber);
    return row;
  }

  leave(row: number): void {
    Atomics.store(this.#memory.numbers, row * NUMBERS + NUMBER, 0);
    this.#free.push(row);
  }

  /** Whether its handler runs. */
  runs(row: number, isRunning: boolean): void {
    Atomics.store(this.#memory.numbers, row * NUMBERS + IS_RUNNING, Number(isRunning));
  }

  /** The last poll whose answer is in here. To be asked before the leases. */
  get seenPoll(): number {
    return Number(Atomics.load(this.#memory.seenPoll, 0));
  }

  set seenPoll(pollNo: number) {
    Atomics.store(this.#memory.seenPoll, 0, BigInt(pollNo));
  }

  get leases(): readonly LeaseName[] {
    return this.#read(false);
  }

  get running(): readonly LeaseName[] {
    return this.#read(true);
  }

  /** Whether any handler runs. */
  get isBusy(): boolean {
    const { numbers, rows } = this.#memory;
    for (let row = 0; row < rows; row += 1) if (isRunning(numbers, row)) return true;
    return false;
  }

  #read(onlyRunning: boolean): LeaseName[] {
    const { numbers, rows } = this.#memory;
    const leases: LeaseName[] = [];
    for (let row = 0; row < rows; row += 1) {
      const number = Atomics.load(numbers, row * NUMBERS + NUMBER);
      if (number === 0 || (onlyRunning && !isRunning(numbers, row))) continue;
      const lease = this.#memory.lease(row);
      if (Atomics.load(numbers, row * NUMBERS + NUMBER) === number) leases.push(lease);
    }
    return leases;
  }

  #grown(): number {
    const before = this.#memory;
    const buffer = bufferFor(before.rows * 2);
    this.#buffer = buffer;
    this.#memory = new Memory(buffer);
    this.#memory.take(before);
    this.#freeFrom(before.rows);
    // Until it is heard the other thread sees what was held up to now.
    this.#onMoved(buffer);
    return this.#free.pop() as number;
  }

  #freeFrom(first: number): void {
    const { rows } = this.#memory;
    for (let row = rows - 1; row >= first; row -= 1) this.#free.push(row);
    this.#terms.length = rows;
  }
}

/** The ways to look at it. */
class Memory {
  readonly view: DataView;
  readonly bytes: Buffer;
  readonly numbers: Int32Array;
  readonly seenPoll: BigInt64Array;
  readonly rows: number;
  readonly #rowsAt: number;

  constructor(buffer: SharedArrayBuffer) {
    this.rows = (buffer.byteLength - HEADER_BYTES) / (NUMBERS_BYTES + ROW_BYTES);
    this.#rowsAt = HEADER_BYTES + this.rows * NUMBERS_BYTES;
    this.view = new DataView(buffer);
    this.bytes = Buffer.from(buffer);
    this.numbers = new Int32Array(buffer, HEADER_BYTES, this.rows * NUMBERS);
    this.seenPoll = new BigInt64Array(buffer, 0, 1);
  }

  rowAt(row: number): number {
    return this.#rowsAt + row * ROW_BYTES;
  }

  /** The first rows are those of a smaller one. */
  take(before: Memory): void {
    this.seenPoll.set(before.seenPoll);
    this.numbers.set(before.numbers);
    this.bytes.set(before.bytes.subarray(before.#rowsAt), this.#rowsAt);
  }

  lease(row: number): LeaseName {
    const { view, bytes } = this;
    const at = this.rowAt(row);
    const text = at + TEXTS;
    const term = text + TEXT_BYTES;
    return {
      jobNo: jobNo(view.getFloat64(at + JOB_NO, true)),
      taskNo: taskNo(view.getUint32(at + TASK_NO, true)),
      fence: view.getFloat64(at + FENCE, true),
      term: bytes.toString(
        'utf8',
        term,
        term + view.getUint32(at + TERM_BYTES, true),
      ) as LeaseName['term'],
      jobId: bytes.toString(
        'utf8',
        text,
        text + view.getUint32(at + JOB_ID_BYTES, true),
      ) as LeaseName['jobId'],
    };
  }
}

function isRunning(numbers: Int32Array, row: number): boolean {
  return Atomics.load(numbers, row * NUMBERS + IS_RUNNING) !== 0;
}

function bufferFor(rows: number): SharedArrayBuffer {
  return new SharedArrayBuffer(HEADER_BYTES + rows * (NUMBERS_BYTES + ROW_BYTES));
}
