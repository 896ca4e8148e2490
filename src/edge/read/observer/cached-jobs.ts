import { JsonText, cursorOf, readCursor } from '../../../scheduler/contract/index.ts';
import type {
  AsOf,
  CountedJobs,
  Dated,
  ReadJob,
  JobSummary,
  JobsQuery,
  Page,
} from '../../../scheduler/contract/index.ts';
import { isStartedAs } from '../../../scheduler/core/index.ts';
import type { JobId } from '../../../scheduler/core/index.ts';

interface Entry {
  /** As it was read last. */
  readonly read: Dated<ReadJob>;
  readonly era: number;
  /** About how many characters it takes. */
  readonly chars: number;
}

interface KeptJob {
  readonly read: Dated<ReadJob>;
  /** Something has happened to it since. */
  readonly isStale: boolean;
}

const CHARS_MAX: number = 256 * 1024 * 1024;
/** What is left when there was too much: to look for the oldest each time would cost much. */
const CHARS_LEFT = 0.8;
/** Of a task, a past run, or a job without them. */
const ROW_CHARS = 500;

/** `label` is `key:value`. */
function hasLabel({ labels }: JobSummary<Date>, label: string): boolean {
  const at = label.indexOf(':');
  const key = label.slice(0, at);
  return Object.hasOwn(labels, key) && labels[key] === label.slice(at + 1);
}

/** The newest jobs, up to a limit; older ones have to be read from the source. */
export class CachedJobs {
  readonly #max: number;
  readonly #charsMax: number;
  readonly #byId: Map<JobId, Entry> = new Map();
  /** The last event of each job that was announced and is not in an answer yet. */
  readonly #changedAt: Map<JobId, number> = new Map();
  #chars = 0;
  /** Grows when everything is reloaded: numbers of different logs cannot be compared. */
  #era = 0;
  /** Jobs below this number may be missing here; 0 when all are here. */
  #completeFrom = Infinity;
  /** In this era there was no room for jobs below this number. */
  #roomFrom = 0;

  constructor(max: number, charsMax: number = CHARS_MAX) {
    this.#max = max;
    this.#charsMax = charsMax;
  }

  get era(): number {
    return this.#era;
  }

  /** Entries stay until they are reloaded, however their log was numbered. */
  startOver(): void {
    this.#era += 1;
    this.#roomFrom = 0;
    this.#changedAt.clear();
  }

  /** Nothing is kept any more, and answers that are under way are not taken in. */
  clear(): void {
    this.startOver();
    for (const id of [...this.#byId.keys()]) this.#forget(id);
    this.#completeFrom = Infinity;
  }

  /** All jobs from this number on have been put; what was read before that began may be gone. */
  settle(completeFrom: number): void {
    for (const [id, { era }] of this.#byId) if (era !== this.#era) this.#forget(id);
    this.#completeFrom = Math.max(completeFrom, this.#roomFrom);
  }

  get(id: JobId): KeptJob | undefined {
    const entry = this.#byId.get(id);
    if (entry === undefined) return undefined;
    const { read, era } = entry;
    return { read, isStale: era !== this.#era || read.asOf.seq < (this.#changedAt.get(id) ?? 0) };
  }

  /** Answers may come in another order than they were asked for, `era` is when that was. */
  put(read: Dated<ReadJob>, era: number = this.#era): void {
    const { id } = read.value;
    if (era !== this.#era || this.#knowsMore(id, read.asOf)) return;
    const chars = charsOf(read.value);
    this.#chars += chars - (this.#byId.get(id)?.chars ?? 0);
    this.#byId.set(id, { read, era, chars });
    if (read.asOf.seq >= (this.#changedAt.get(id) ?? 0)) this.#changedAt.delete(id);
    if (this.#byId.size > this.#max * 1.25 || this.#chars > this.#charsMax) this.#dropOldest();
  }

  /** It was not there at that time. */
  remove(id: JobId, asOf: AsOf<Date>, era: number = this.#era): void {
    if (era === this.#era && !this.#knowsMore(id, asOf)) this.#forget(id);
  }

  markStale(id: JobId, seq: number): void {
    const entry = this.#byId.get(id);
    if (entry?.era === this.#era && entry.read.asOf.seq >= seq) return;
    this.#changedAt.set(id, Math.max(seq, this.#changedAt.get(id) ?? 0));
  }

  /** `isWhole` is false when there may be more such jobs below what is kept. */
  page({
    state,
    name,
    labels = [],
    schedule,
    startedBy,
    since,
    until,
    limit,
    cursor,
  }: JobsQuery): Page<JobSummary<Date>> & { readonly isWhole: boolean } {
    const [before = Infinity] = cursor === undefined ? [] : readCursor('jobs', 1, cursor);
    const found = this.#youngestFirst()
      // Below that one may be here by accident, while its neighbours are not.
      .filter(({ no }) => no < before && no >= this.#completeFrom)
      .filter((job) => state === undefined || job.state === state)
      .filter((job) => name === undefined || job.name === name)
      .filter(({ scheduleId }) => schedule === undefined || scheduleId === schedule)
      .filter((job) => startedBy === undefined || isStartedAs(job.startedBy, startedBy))
      .filter(({ createdAt }) => since === undefined || createdAt.getTime() >= since)
      .filter(({ createdAt }) => until === undefined || createdAt.getTime() < until)
      .filter((job) => labels.every((label) => hasLabel(job, label)))
      .slice(0, limit);
    const isWhole = found.length === limit || this.#completeFrom === 0;
    const last = found.at(-1);
    const isLast = last === undefined || (isWhole && found.length < limit);
    return {
      items: found.map(summaryOf),
      cursor: isLast ? null : cursorOf('jobs', [last.no]),
      isWhole,
    };
  }

  counts(): CountedJobs {
    const counts = { queued: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 };
    for (const { read } of this.#byId.values())
      if (read.value.no >= this.#completeFrom) counts[read.value.state] += 1;
    return { counts, isWhole: this.#completeFrom === 0 };
  }

  #youngestFirst(): ReadJob[] {
    return [...this.#byId.values()].map(({ read }) => read.value).toSorted((a, b) => b.no - a.no);
  }

  #knowsMore(id: JobId, { seq }: AsOf<Date>): boolean {
    const entry = this.#byId.get(id);
    return entry?.era === this.#era && entry.read.asOf.seq > seq;
  }

  #forget(id: JobId): void {
    this.#chars -= this.#byId.get(id)?.chars ?? 0;
    this.#byId.delete(id);
    this.#changedAt.delete(id);
  }

  /** Those of an earlier era count as older than all others. */
  #dropOldest(): void {
    const youngestFirst = [...this.#byId.values()].toSorted(
      (a, b) => b.era - a.era || b.read.value.no - a.read.value.no,
    );
    const charsLeft = this.#chars > this.#charsMax ? this.#charsMax * CHARS_LEFT : this.#charsMax;
    let chars = 0;
    // Without gaps: after the first one that goes, all go.
    for (const [at, { read, era, chars: more }] of youngestFirst.entries()) {
      chars += more;
      if (at < this.#max && chars <= charsLeft) continue;
      const { id, no } = read.value;
      this.#forget(id);
      this.#completeFrom = Math.max(this.#completeFrom, no + 1);
      if (era === this.#era) this.#roomFrom = Math.max(this.#roomFrom, no + 1);
    }
  }
}

/** Only an estimate: results are what may be large. */
function charsOf({ result: own, tasks, history }: ReadJob): number {
  let chars = (1 + tasks.length + history.length) * ROW_CHARS;
  for (const result of [own, ...tasks.map((task) => task.result)]) {
    if (result instanceof JsonText) chars += result.text.length;
    else if (result !== null) chars += JSON.stringify(result).length;
  }
  return chars;
}

function summaryOf(job: ReadJob): JobSummary<Date> {
  const { result: _, isResultOmitted: _omitted, tasks: _tasks, history: _history, ...rest } = job;
  return rest;
}
