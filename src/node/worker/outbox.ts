/**
 * Reports to the leader. Nothing is dropped before there is a verdict: an unanswered report is sent again unchanged,
 * which the leader recognises. One report is in flight, the next one gathers meanwhile, so a busy worker sends few
 * large ones and an idle one sends at once. A large one does not wait for those before it, unless it has more to say of
 * the same leases.
 */
import type { LeaseName, MillraceError } from '../../scheduler/core/index.ts';
import { Backoff, type Clock, sleepOrAbort } from '../../kit/index.ts';
import type {
  ReportReply,
  WorkerOrders,
  WorkerReport,
  WorkerSuspension,
} from '../../scheduler/contract/index.ts';
import { endsSession, isFinal } from './session-error.ts';
import type { WorkerSettings } from './settings.ts';

/** Reports in flight, if they are of so many items. */
const REPORTS_AT_ONCE = 4;
const WORTH_ITEMS = 100;

export type ItemVerdict = ReportReply['verdicts'][number];

interface Entry {
  item: WorkerReport;
  bytes: number;
  readonly onVerdict: (verdict: ItemVerdict) => void;
}

export interface OutboxOptions {
  readonly send: (items: readonly WorkerReport[]) => Promise<ReportReply>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly settings: WorkerSettings;
  /** How long the leader wants to be left alone. */
  readonly quietMs: () => number;
  /** Once for each answered report, after its verdicts were given out. */
  readonly onAnswer: (orders: WorkerOrders) => void;
  readonly onOver: (error: Error) => void;
  readonly say: (line: string) => void;
}

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #life = new AbortController();
  readonly #backoff: Backoff;
  #queue: Entry[] = [];
  /** Progress that was not reported yet: a newer report replaces it. */
  readonly #progress: Map<LeaseName, Entry> = new Map();
  /** Those of which a report in flight says something that is not their end: more of them waits for its answer. */
  readonly #inFlight: Set<LeaseName> = new Set();
  #reports = 0;
  #items = 0;
  #bytes = 0;
  #isWoken = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
    const { retryMs, retryMaxMs } = options.settings;
    this.#backoff = new Backoff({ firstMs: retryMs, maxMs: retryMaxMs }, options.random);
  }

  get isEmpty(): boolean {
    return this.#items === 0;
  }

  /** Too much waits for a verdict: results are kept in memory, so no more may be made. */
  get isFull(): boolean {
    const { unreportedItemsMax, unreportedBytesMax } = this.#options.settings;
    return this.#items >= unreportedItemsMax || this.#bytes >= unreportedBytesMax;
  }

  put(item: WorkerReport, onVerdict: (verdict: ItemVerdict) => void = () => {}): void {
    if (this.#life.signal.aborted) return;
    const bytes = bytesOf(item);
    const waiting = item.kind === 'progress' ? this.#progress.get(item.lease) : undefined;
    if (waiting !== undefined) {
      this.#bytes += bytes - waiting.bytes;
      waiting.item = item;
      waiting.bytes = bytes;
      return;
    }
    const entry: Entry = { item, bytes, onVerdict };
    if (item.kind === 'progress') this.#progress.set(item.lease, entry);
    this.#queue.push(entry);
    this.#items += 1;
    this.#bytes += bytes;
    if (this.#reports > 0 && !this.#isWorthIt) return;
    this.#wake();
  }

  /** What happens in the same turn of the loop travels together, and what happens while the leader wants to be left alone. */
  #wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    const { clock, quietMs, onOver } = this.#options;
    setImmediate(() => {
      sleepOrAbort(clock, quietMs(), this.#life.signal)
        .then(() => this.#sendAll())
        .catch((error: unknown) => onOver(asError(error)));
    });
  }

  /** So much that it need not wait for the reports in flight. */
  get #isWorthIt(): boolean {
    return this.#queue.length >= WORTH_ITEMS && this.#reports < REPORTS_AT_ONCE;
  }

  /** Nothing is sent any more and no verdict is awaited. */
  stop(): void {
    this.#life.abort();
    this.#queue = [];
    this.#progress.clear();
    this.#items = 0;
    this.#bytes = 0;
  }

  #sendAll(): void {
    this.#isWoken = false;
    while (this.#queue.length > 0 && (this.#reports === 0 || this.#isWorthIt)) {
      const batch = this.#nextBatch();
      if (batch.length === 0) return;
      this.#send(batch).catch((error: unknown) => this.#options.onOver(asError(error)));
    }
  }

  async #send(batch: readonly Entry[]): Promise<void> {
    const leases = batch.flatMap(({ item }) => (isEnd(item) ? [] : [item.lease]));
    this.#reports += 1;
    for (const lease of leases) this.#inFlight.add(lease);
    await this.#untilAnswered(batch);
    this.#reports -= 1;
    for (const lease of leases) this.#inFlight.delete(lease);
    if (this.#queue.length > 0) this.#wake();
  }

  #nextBatch(): Entry[] {
    const { reportItemsMax, reportBytesMax } = this.#options.settings;
    const taken: Entry[] = [];
    let hasStarted = false;
    let bytes = 0;
    for (const entry of this.#queue) {
      if (taken.length === reportItemsMax || (bytes > 0 && bytes + entry.bytes > reportBytesMax)) {
        break;
      }
      if (this.#inFlight.has(entry.item.lease)) break;
      taken.push(entry);
      bytes += entry.bytes;
      hasStarted ||= entry.item.kind === 'started';
      if (entry.item.kind === 'progress') this.#progress.delete(entry.item.lease);
    }
    this.#queue = this.#queue.slice(taken.length);
    return hasStarted ? this.#withoutStarts(taken) : taken;
  }

  /** A completion says that it started, too. */
  #withoutStarts(taken: readonly Entry[]): Entry[] {
    const completed = new Set<LeaseName>();
    for (const { item } of taken) if (item.kind === 'completed') completed.add(item.lease);
    return taken.filter((entry) => {
      const isSaid = entry.item.kind === 'started' && completed.has(entry.item.lease);
      if (isSaid) this.#release(entry);
      return !isSaid;
    });
  }

  async #untilAnswered(batch: readonly Entry[]): Promise<void> {
    const { send, clock, onAnswer, onOver, say } = this.#options;
    const { signal } = this.#life;
    while (!signal.aborted) {
      try {
        const { verdicts, orders } = await send(batch.map(({ item }) => item));
        if (signal.aborted) return;
        if (verdicts.length !== batch.length) {
          throw new Error(`${verdicts.length} verdicts for ${batch.length} items`);
        }
        this.#backoff.reset();
        for (let at = 0; at < batch.length; at += 1) {
          const entry = batch[at] as Entry;
          this.#release(entry);
          entry.onVerdict(verdicts[at] ?? 'lost');
        }
        return onAnswer(orders);
      } catch (error) {
        if (signal.aborted) return;
        if (endsSession(error)) return onOver(error);
        if (isFinal(error)) return this.#withoutOffender(batch, error);
        say(`A report was not acknowledged and is sent again: ${asError(error).message}`);
        await sleepOrAbort(clock, this.#backoff.nextMs(), signal);
      }
    }
  }

  /** The leader will never take this report as it is: each item alone, and what it refuses fails. */
  async #withoutOffender(batch: readonly Entry[], error: MillraceError): Promise<void> {
    if (batch.length > 1) {
      for (const entry of batch) await this.#untilAnswered([entry]);
      return;
    }
    const [entry] = batch;
    if (entry === undefined) return;
    const { item } = entry;
    if (item.kind === 'failed' || item.kind === 'released' || item.kind === 'aborted') {
      this.#options.say(`A report was rejected: ${error.message}`);
      this.#release(entry);
      return entry.onVerdict('lost');
    }
    entry.item = asRefused(item, error);
    await this.#untilAnswered([entry]);
  }

  #release(entry: Entry): void {
    this.#items -= 1;
    this.#bytes -= entry.bytes;
  }
}

/** Nothing more is said of the lease. */
function isEnd({ kind }: WorkerReport): boolean {
  return ENDS.has(kind);
}

const ENDS: ReadonlySet<WorkerReport['kind']> = new Set([
  ...(['completed', 'failed', 'inputLost'] as const),
  ...(['suspended', 'aborted', 'released'] as const),
]);

const WORDS: { readonly [Kind in WorkerReport['kind']]?: string } = {
  suspended: 'what it waits for',
  inputLost: 'what it could not read',
  submitted: 'the job that it submits',
};

/** The task fails for good: no other attempt would say anything else. */
function asRefused({ kind, lease }: WorkerReport, error: MillraceError): WorkerReport {
  const what = WORDS[kind] ?? `what it ${kind}`;
  const message = `the leader rejected ${what}: ${error.message}`;
  const usual = kind === 'completed' ? 'bad_result' : 'bad_report';
  const code = error.code === 'too_large' ? error.code : usual;
  return { kind: 'failed', lease, error: { code, message }, failure: 'fatal' };
}

/** About, and never too little: texts are kept as two bytes a character at most. */
function bytesOf(item: WorkerReport): number {
  switch (item.kind) {
    case 'completed':
      return item.result?.length ?? 0;
    case 'step':
      return item.body.length;
    case 'submitted':
      return JSON.stringify(item.document).length;
    case 'failed':
      return item.error.message.length;
    case 'inputLost':
      return (
        item.error.message.length + item.lost.reduce((sum, { taskId }) => sum + taskId.length, 0)
      );
    case 'progress':
      return item.note?.length ?? 0;
    case 'suspended':
      return documentsOf(item.until);
    case 'started':
    case 'aborted':
    case 'released':
      return 0;
  }
}

function documentsOf(until: WorkerSuspension): number {
  const documents = until.type === 'children' ? until.tasks : until.jobs;
  return documents.length === 0 ? 0 : JSON.stringify(documents).length;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
