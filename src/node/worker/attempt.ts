/** One assignment on this worker, from its arrival to its final report. */
import { setMaxListeners } from 'node:events';
import { Place } from '../../scheduler/core/index.ts';
import type { Json, LeaseName, MillraceError } from '../../scheduler/core/index.ts';
import { classifyFailure, jsonText } from '../../tasks/executors/index.ts';
import type { Executor, OutputStream, TaskLog } from '../../tasks/executors/index.ts';
import { type Clock, deferred } from '../../kit/index.ts';
import type {
  ReadyAssignment,
  WorkerReport,
  WorkerSuspension,
} from '../../scheduler/contract/index.ts';
import { AttemptContext } from './attempt-context.ts';
import { AttemptSpan } from './attempt-span.ts';
import type { ItemVerdict } from './outbox.ts';
import { tooLarge } from './payload-limit.ts';

/** The report for a handler that stopped because it was asked to; `null` for none, after the session has ended. */
export type StopWord = 'aborted' | 'released' | null;

export interface AttemptHost {
  readonly clock: Clock;
  readonly executor: (name: string) => Executor | undefined;
  readonly put: (item: WorkerReport, onVerdict?: (verdict: ItemVerdict) => void) => void;
  readonly log: (attempt: Attempt) => TaskLog;
  readonly output: (attempt: Attempt, stream: OutputStream, line: string) => void;
  /** A handler calls or maps over this: it needs these executors. */
  readonly onCall: (attempt: Attempt, what: unknown, executors: readonly string[]) => void;
  /** The lease is not ours: the leader said so to something this attempt reported. */
  readonly onLost: (attempt: Attempt) => void;
}

const nothing = (): void => {};

export class Attempt {
  readonly assignment: ReadyAssignment;
  /** Among those that the session holds, and the one before it of the same task. */
  readonly place: Place<Attempt> = new Place();
  older: Attempt | undefined = undefined;
  /** Where its lease stands in the `HeldTable`, once it is held. */
  row = 0;
  state: 'waiting' | 'running' | 'ended' = 'waiting';
  readonly #host: AttemptHost;
  #reason: MillraceError | null = null;
  #cancelStart: () => void = nothing;
  #stopWord: StopWord = null;
  #control: AbortController | null = null;
  /** By the monotonic clock. */
  readonly #receivedAtMs: number;
  #context: AttemptContext | null = null;
  /** Null before it runs, and where nothing is traced. */
  #span: AttemptSpan | null = null;
  #isStartTold = false;
  /** Of its end. */
  #said: WorkerReport | null = null;
  #resolve: (item: WorkerReport | null) => void = nothing;

  constructor(assignment: ReadyAssignment, host: AttemptHost, receivedAtMs: number) {
    this.assignment = assignment;
    this.#host = host;
    this.#receivedAtMs = receivedAtMs;
  }

  get lease(): LeaseName {
    return this.assignment.lease;
  }

  get isStopping(): boolean {
    return this.#reason !== null;
  }

  get span(): AttemptSpan | null {
    return this.#span;
  }

  /** Created on first use: short tasks never use it, and it costs more than they do. */
  get signal(): AbortSignal {
    if (this.#control === null) {
      this.#control = new AbortController();
      // It ends with the attempt, and a handler may have any number of calls under way.
      setMaxListeners(0, this.#control.signal);
      if (this.#reason !== null) this.#control.abort(this.#reason);
    }
    return this.#control.signal;
  }

  /** By the database's clock; behind it by as long as the assignment was on its way. */
  get nowMs(): number {
    return this.assignment.assignedAt + this.#host.clock.monotonicMs() - this.#receivedAtMs;
  }

  progress(fraction: number, note: string | null): void {
    if (this.state !== 'running' || this.isStopping) return;
    this.tell({ kind: 'progress', lease: this.lease, fraction: within(fraction), note });
  }

  get log(): TaskLog {
    return this.#host.log(this);
  }

  /** What a process or thread of the handler has printed. */
  output(stream: OutputStream, line: string): void {
    this.#host.output(this, stream, line);
  }

  called(what: unknown, executors: readonly string[]): void {
    this.#host.onCall(this, what, executors);
  }

  /** Reports on the lease; this is also where its loss is noticed first. */
  tell(item: WorkerReport, onVerdict?: (verdict: ItemVerdict) => void): void {
    if (this.state === 'running') this.#tellStart();
    this.#put(item, onVerdict);
  }

  /** What the leader says to its end. If a result was not accepted, because another attempt was faster or the task was
   * stopped, nobody will ask for what this one has left on the node. */
  heard(end: WorkerReport, verdict: ItemVerdict): ItemVerdict {
    if (end.kind === 'completed' && verdict === 'lost') {
      const { jobId, taskId, executor, lease } = this.assignment;
      this.#host.executor(executor)?.discard?.({ jobId, taskId, fence: lease.fence });
    }
    return verdict;
  }

  /** Runs the handler until it ends or is suspended. Returns what there is to say of it, null for nothing: at once for a
   * handler that waits for nothing itself. */
  run(): Promise<WorkerReport | null> | WorkerReport | null {
    this.state = 'running';
    this.#span = AttemptSpan.start(this.assignment);
    const { lease, executor: name } = this.assignment;
    const executor = this.#host.executor(name);
    if (executor === undefined) return this.#end(missing(lease, name));
    const context = new AttemptContext(this);
    this.#context = context;
    let returned: unknown;
    try {
      returned = this.#call(executor, context);
      if (!context.isUsed && !isThenable(returned)) {
        return this.#end(this.#outcome(returned, context));
      }
    } catch (thrown) {
      returned = rejected(thrown);
    }
    if (!this.#hasEnded) this.#tellStart();
    const ended = deferred<WorkerReport | null>();
    this.#resolve = ended.resolve;
    this.#settled(returned, context).then((item) => this.#end(item), ended.reject);
    return this.#hasEnded ? this.#said : ended.promise;
  }

  get #hasEnded(): boolean {
    return this.state === 'ended';
  }

  /** What ends at once needs no report of its start: the one of its end says it, too. */
  #tellStart(): void {
    if (this.#isStartTold) return;
    this.#isStartTold = true;
    const quietMs = this.#host.executor(this.assignment.executor)?.quietMs ?? 0;
    const tell = (): void => this.#put({ kind: 'started', lease: this.lease });
    if (quietMs === 0) tell();
    else this.#cancelStart = this.#host.clock.after(quietMs, tell);
  }

  /** The handler is suspended: its slot is free, and it is not awaited. */
  suspend(until: WorkerSuspension): void {
    const fault = this.#context?.fault ?? null;
    if (fault !== null) return void this.#end(this.#failed(fault));
    const record = this.#span?.record ?? null;
    if (record !== null) this.tell(record);
    this.#end({ kind: 'suspended', lease: this.lease, until });
  }

  /** It was asked to stop and does not: its further work is ignored. */
  abandon(): void {
    this.#end(this.#stopWord === null ? null : { kind: this.#stopWord, lease: this.lease });
  }

  /** The first reason counts, except that a lost session silences the rest. */
  stop(reason: MillraceError, word: StopWord): void {
    if (!this.isStopping || word === null) this.#stopWord = word;
    this.#reason ??= reason;
    this.#control?.abort(this.#reason);
  }

  #end(item: WorkerReport | null): WorkerReport | null {
    if (this.#hasEnded) return this.#said;
    if (item !== null && item.kind !== 'completed') this.#tellStart();
    this.state = 'ended';
    this.#said = item;
    this.#cancelStart();
    this.#context?.close();
    this.#span?.end(item);
    this.#resolve(item);
    return item;
  }

  #call(executor: Executor, context: AttemptContext): unknown {
    const run = (): unknown => executor.run(JSON.parse(this.assignment.input) as Json, context);
    return this.#span === null ? run() : this.#span.within(run);
  }

  async #settled(returned: unknown, context: AttemptContext): Promise<WorkerReport | null> {
    const { lease } = this;
    try {
      const value = await returned;
      await context.ended('returned');
      return this.#outcome(value, context);
    } catch (thrown) {
      await context.ended('thrown');
      if (this.isStopping) {
        return this.#stopWord === null ? null : { kind: this.#stopWord, lease };
      }
      const committed = context.completion?.committed ?? null;
      if (committed !== null) return { kind: 'completed', lease, result: committed };
      return this.#failed(context.fault ?? thrown);
    }
  }

  /** Of a handler that has returned. */
  #outcome(value: unknown, context: AttemptContext): WorkerReport | null {
    const { lease } = this;
    // It came to its end although it was asked to stop: the leader decides what that is worth.
    if (this.isStopping && this.#stopWord === null) return null;
    const completed = context.completion?.result ?? null;
    if (completed === null) {
      return context.fault === null ? this.#returned(value) : this.#failed(context.fault);
    }
    // What was committed stands, whatever else the handler did.
    if (context.fault !== null) this.log.error(context.fault.message);
    return { kind: 'completed', lease, result: completed };
  }

  #failed(thrown: unknown): WorkerReport {
    const { lost, ...failed } = classifyFailure(thrown);
    const { lease } = this;
    if (lost !== undefined) return { kind: 'inputLost', lease, lost, error: failed.error };
    return { kind: 'failed', lease, ...failed };
  }

  #returned(value: unknown): WorkerReport {
    const { lease, executor } = this.assignment;
    const result = jsonText(value);
    if (!result.isJson) {
      const error = { code: 'bad_result', message: `the result of ${executor} ${result.fault}` };
      return { kind: 'failed', lease, error, failure: 'fatal' };
    }
    const excess = tooLarge(`The result of ${executor}`, result.text);
    if (excess === null) return { kind: 'completed', lease, result: result.text };
    return { kind: 'failed', lease, ...classifyFailure(excess) };
  }

  #put(item: WorkerReport, onVerdict: (verdict: ItemVerdict) => void = () => {}): void {
    this.#host.put(item, (verdict) => {
      if (verdict === 'lost') this.#host.onLost(this);
      onVerdict(verdict);
    });
  }
}

function missing(lease: LeaseName, name: string): WorkerReport {
  const message = `executor '${name}' is not registered on worker`;
  return {
    kind: 'failed',
    lease,
    error: { code: 'missing_executor', message },
    failure: 'missing',
  };
}

async function rejected(thrown: unknown): Promise<never> {
  throw thrown;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';
}

function within(fraction: number): number {
  return Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0;
}
