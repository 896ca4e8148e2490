/**
 * Plain jobs that wait far back in their lane: some numbers in columns instead of a dozen objects. A million of them
 * are a few arrays for the garbage collector, and less than a hundred bytes each.
 *
 * A job is packed when it has one task, that task is ready, and nothing has happened to either of them. It
 * is unpacked when its turn comes near, or when somebody asks for it; then it is as if it had never been packed, since its
 * place in the order of turns is kept: see `LiveJobs`.
 */
import type { StoredJobOptions, WrittenOptions } from '../document/job-options.ts';
import { encodeOptions } from '../document/options.ts';
import type { TaskOptions } from '../document/document.ts';
import { instant, jobNo } from '../ids.ts';
import type { Instant, JobId, JobNo, TaskId } from '../ids.ts';
import { DoubleColumn, WordColumn } from '../memory/column.ts';
import { NumberIndex } from '../memory/number-index.ts';
import type { PackedLine } from '../queue/packed-line.ts';
import type { Requirement } from '../queue/requirement.ts';
import type { Settings } from '../settings.ts';
import type { Priority } from '../task/chart.ts';
import type { Slot, TaskTable } from '../task/table.ts';
import type { Job } from './job.ts';
import { idHash, uuidText, uuidWords } from './uuid-words.ts';
import type { Words } from './uuid-words.ts';

/** What jobs of one kind have in common. */
export interface PackedKind {
  readonly name: string;
  readonly priority: Priority;
  readonly maxParallel: number | null;
  readonly onFailure: Job['onFailure'];
  readonly output: string | null;
  readonly labels: readonly string[];
  readonly written: WrittenOptions;
  readonly taskId: TaskId;
  readonly taskPriority: number;
  readonly taskOptions: TaskOptions;
  readonly requirement: Requirement;
}

/** A packed job, taken out again. */
export interface Unpacked {
  readonly no: JobNo;
  readonly id: JobId;
  readonly kind: PackedKind;
  readonly createdAt: Instant;
  readonly queuedAt: Instant;
  readonly virtualTime: number;
}

interface Counted {
  readonly kind: PackedKind;
  readonly text: string;
  count: number;
}

const ID_WORDS = [0, 1, 2, 3] as const;

export class PackedJobs {
  readonly #settings: Settings;
  readonly #numbers: DoubleColumn = new DoubleColumn();
  readonly #virtualTimes: DoubleColumn = new DoubleColumn();
  readonly #createdAt: DoubleColumn = new DoubleColumn();
  readonly #queuedAt: DoubleColumn = new DoubleColumn();
  readonly #kindOf: WordColumn = new WordColumn();
  readonly #next: WordColumn = new WordColumn();
  readonly #previous: WordColumn = new WordColumn();
  readonly #idWords: readonly [WordColumn, WordColumn, WordColumn, WordColumn] = [
    new WordColumn(),
    new WordColumn(),
    new WordColumn(),
    new WordColumn(),
  ];
  /** Ids that are no UUIDs; their words are a hash. */
  readonly #otherIds: Map<number, JobId> = new Map();
  readonly #kinds: (Counted | null)[] = [];
  readonly #kindsByText: Map<string, number> = new Map();
  readonly #freeKinds: number[] = [];
  readonly #byNo: NumberIndex = new NumberIndex((entry) => spread(this.#numbers.get(entry)));
  readonly #byId: NumberIndex = new NumberIndex((entry) => this.#hash(entry));
  readonly #free: number[] = [];
  readonly #lines: Set<PackedLine> = new Set();
  #places = 1;
  #size = 0;
  #lastKind = 0;
  #askedId: JobId | null = null;
  #askedWords: Words = [0, 0, 0, 0];
  #isAskedUuid = false;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get size(): number {
    return this.#size;
  }

  /** Those that have jobs. */
  get lines(): ReadonlySet<PackedLine> {
    return this.#lines;
  }

  /** How many there are of each kind. */
  *counts(): Iterable<{ readonly kind: PackedKind; readonly count: number }> {
    for (const each of this.#kinds) if (each !== null) yield each;
  }

  /** In the order of their turns. */
  *entries(line: PackedLine): Iterable<number> {
    for (let entry = line.head; entry !== 0; entry = this.#next.get(entry)) yield entry;
  }

  idOf(entry: number): JobId {
    return this.#otherIds.get(entry) ?? (uuidText(this.#words(entry)) as JobId);
  }

  virtualTime(entry: number): number {
    return this.#virtualTimes.get(entry);
  }

  jobNo(entry: number): JobNo {
    return jobNo(this.#numbers.get(entry));
  }

  queuedAt(entry: number): Instant {
    return instant(this.#queuedAt.get(entry));
  }

  /** 0 when there is none. */
  find(no: JobNo): number {
    if (this.#size === 0) return 0;
    return this.#byNo.find(spread(no), (entry) => this.#numbers.get(entry) === no);
  }

  findId(id: JobId): number {
    if (this.#size === 0) return 0;
    const [one, two, three, four] = this.#wordsOf(id);
    const hash = hashOf(one, two, three, four);
    return this.#byId.find(hash, (entry) => {
      if (this.#idWords[0]?.get(entry) !== one || this.#idWords[1]?.get(entry) !== two)
        return false;
      if (this.#idWords[2]?.get(entry) !== three || this.#idWords[3]?.get(entry) !== four)
        return false;
      return this.idOf(entry) === id;
    });
  }

  /** Behind all others of the line. The job may be dropped then, and its task freed. */
  add(job: Job, slot: Slot, tasks: TaskTable, line: PackedLine): void {
    const entry = this.#free.pop() ?? this.#places++;
    this.#numbers.set(entry, job.no);
    this.#virtualTimes.set(entry, job.virtualTime);
    this.#createdAt.set(entry, job.createdAt);
    this.#queuedAt.set(entry, tasks.queuedAt.get(slot));
    this.#kindOf.set(entry, this.#kindFor(job, slot, tasks));
    const words = this.#wordsOf(job.id);
    if (!this.#isAskedUuid) this.#otherIds.set(entry, job.id);
    for (const at of ID_WORDS) this.#idWords[at].set(entry, words[at]);
    this.#byNo.add(entry);
    this.#byId.add(entry);
    this.#next.set(entry, 0);
    this.#previous.set(entry, line.tail);
    if (line.tail === 0) line.head = entry;
    else this.#next.set(line.tail, entry);
    line.tail = entry;
    line.size += 1;
    this.#size += 1;
    this.#lines.add(line);
  }

  kind(entry: number): PackedKind {
    return this.#counted(entry).kind;
  }

  /** Out of the line, wherever in it. */
  take(entry: number, line: PackedLine): Unpacked {
    const { kind } = this.#counted(entry);
    const taken = {
      no: this.jobNo(entry),
      id: this.idOf(entry),
      kind,
      createdAt: instant(this.#createdAt.get(entry)),
      queuedAt: this.queuedAt(entry),
      virtualTime: this.virtualTime(entry),
    };
    const [previous, next] = [this.#previous.get(entry), this.#next.get(entry)];
    if (previous === 0) line.head = next;
    else this.#next.set(previous, next);
    if (next === 0) line.tail = previous;
    else this.#previous.set(next, previous);
    line.size -= 1;
    if (line.size === 0) this.#lines.delete(line);
    this.#byNo.remove(entry);
    this.#byId.remove(entry);
    this.#otherIds.delete(entry);
    this.#dropKind(this.#kindOf.get(entry));
    this.#free.push(entry);
    this.#size -= 1;
    return taken;
  }

  #words(entry: number): Words {
    const [one, two, three, four] = this.#idWords;
    return [one.get(entry), two.get(entry), three.get(entry), four.get(entry)];
  }

  #hash(entry: number): number {
    const [one, two, three, four] = this.#words(entry);
    return hashOf(one, two, three, four);
  }

  /** A new job is looked for twice before it is packed: the words of its id are made once. */
  #wordsOf(id: JobId): Words {
    if (id === this.#askedId) return this.#askedWords;
    const words = uuidWords(id);
    this.#askedId = id;
    this.#isAskedUuid = words !== null;
    this.#askedWords = words ?? idHash(id);
    return this.#askedWords;
  }

  #counted(entry: number): Counted {
    return this.#kinds[this.#kindOf.get(entry)] as Counted;
  }

  /** With one more job. Most jobs are of the same kind as the one before. */
  #kindFor(job: Job, slot: Slot, tasks: TaskTable): number {
    const last = this.#kinds[this.#lastKind] ?? null;
    if (last !== null && isOfKind(last.kind, job, slot, tasks)) {
      last.count += 1;
      return this.#lastKind;
    }
    const kind = kindOf(job, slot, tasks);
    const text = this.#textOf(kind);
    let at = this.#kindsByText.get(text);
    if (at === undefined) {
      at = this.#freeKinds.pop() ?? this.#kinds.length;
      this.#kinds[at] = { kind, text, count: 0 };
      this.#kindsByText.set(text, at);
    }
    (this.#kinds[at] as Counted).count += 1;
    this.#lastKind = at;
    return at;
  }

  #dropKind(at: number): void {
    const counted = this.#kinds[at] as Counted;
    counted.count -= 1;
    if (counted.count > 0) return;
    this.#kinds[at] = null;
    this.#kindsByText.delete(counted.text);
    this.#freeKinds.push(at);
  }

  #textOf({ written, taskOptions, requirement, ...plain }: PackedKind): string {
    const texts = [written.text, encodeOptions(taskOptions, this.#settings)];
    return JSON.stringify([plain, requirement.id, ...texts]);
  }
}

function kindOf(job: Job, slot: Slot, tasks: TaskTable): PackedKind {
  return {
    name: job.name,
    priority: job.submittedPriority,
    maxParallel: job.maxParallel,
    onFailure: job.onFailure,
    output: job.output,
    labels: job.labels,
    written: job.written,
    taskId: tasks.id(slot),
    taskPriority: tasks.priority(slot),
    taskOptions: tasks.options(slot),
    requirement: tasks.requirement(slot),
  };
}

/** Without a look at the texts of its task's options: equal ones that are two objects are found by their text. */
function isOfKind(kind: PackedKind, job: Job, slot: Slot, tasks: TaskTable): boolean {
  return (
    kind.name === job.name &&
    kind.taskId === tasks.id(slot) &&
    kind.requirement === tasks.requirement(slot) &&
    kind.taskOptions === tasks.options(slot) &&
    kind.written.text === job.written.text &&
    kind.priority === job.submittedPriority &&
    kind.taskPriority === tasks.priority(slot) &&
    kind.maxParallel === job.maxParallel &&
    kind.onFailure === job.onFailure &&
    kind.output === job.output &&
    areSame(kind.labels, job.labels)
  );
}

function areSame(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false;
  return one.every((each, at) => each === other[at]);
}

/** Every bit of it decides about every bit of the hash. */
function spread(word: number): number {
  let hash = word | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function hashOf(one: number, two: number, three: number, four: number): number {
  return spread(
    one ^ Math.imul(two, 0x85ebca6b) ^ Math.imul(three, 0xc2b2ae35) ^ Math.imul(four, 0x27d4eb2f),
  );
}

/** Whether there is nothing about the job that its kind and the columns do not say. */
export function isPlain(job: Job, tasks: TaskTable): boolean {
  const [slot] = job.slots;
  if (slot === undefined || job.slots.length > 1) return false;
  if (job.state !== 'queued' || job.run !== 1 || job.startedAt !== null) return false;
  if (job.idempotencyKey !== null || job.scheduleId !== null || job.submittedRunAt !== null)
    return false;
  if (job.totalMs !== null || job.stopping !== null || job.error !== null) return false;
  if (job.share !== null || job.batchId !== null || job.outputs !== null) return false;
  if (job.hasSignals || job.parkedQueues !== null || job.runSince !== job.createdAt) return false;
  return isOfMany(job.options) && tasks.isFresh(slot) && isTimeless(tasks.options(slot));
}

/** Options that many jobs may share. */
function isOfMany(options: StoredJobOptions): boolean {
  const { webhooks, cancelOn, fairnessKey, debounce, singleton, batch, trace } = options;
  if (webhooks.length + cancelOn.length > 0) return false;
  const rest = fairnessKey ?? debounce ?? singleton ?? batch ?? trace ?? options.firstAt;
  const more = options.batchOf ?? options.priority ?? options.runAt ?? options.startedBy;
  return (rest ?? more ?? options.whenFailed) === null;
}

function isTimeless({ timeouts, admission, output, stragglerFactor }: TaskOptions): boolean {
  if (timeouts.queueMs !== null || timeouts.totalMs !== null) return false;
  return admission === undefined && output === undefined && stragglerFactor === undefined;
}
