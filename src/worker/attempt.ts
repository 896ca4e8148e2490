/** One assignment on this worker, from its arrival to what is said of its end. */
import type { Json, LeaseName, MillraceError, ReportItem } from '../core/index.ts';
import { classifyFailure, jsonText } from '../executors/index.ts';
import type { Executor, TaskLog } from '../executors/index.ts';
import type { ReadyAssignment } from '../protocol/index.ts';
import { AttemptContext } from './attempt-context.ts';
import { leaseKey } from './lease-key.ts';
import type { ItemVerdict } from './outbox.ts';

/** What is said of a handler that stopped because it was told to; `null`: nothing, nobody listens. */
export type StopWord = 'aborted' | 'released' | null;

export interface AttemptHost {
  readonly executor: (name: string) => Executor | undefined;
  readonly put: (item: ReportItem, onVerdict?: (verdict: ItemVerdict) => void) => void;
  readonly log: (attempt: Attempt) => TaskLog;
  /** The lease is not ours: the leader said so to something this attempt reported. */
  readonly onLost: (attempt: Attempt) => void;
}

export class Attempt {
  readonly assignment: ReadyAssignment;
  readonly key: string;
  /** Its number on this worker, as the heartbeat thread knows it. */
  readonly id: number;
  state: 'waiting' | 'running' | 'ended' = 'waiting';
  readonly #host: AttemptHost;
  #reason: MillraceError | null = null;
  #stopWord: StopWord = null;
  #control: AbortController | null = null;

  constructor(id: number, assignment: ReadyAssignment, host: AttemptHost) {
    this.id = id;
    this.assignment = assignment;
    this.key = leaseKey(assignment.lease);
    this.#host = host;
  }

  get lease(): LeaseName {
    return this.assignment.lease;
  }

  get isStopping(): boolean {
    return this.#reason !== null;
  }

  /** Made when somebody looks: short tasks do not, and it costs more than they do. */
  get signal(): AbortSignal {
    if (this.#control === null) {
      this.#control = new AbortController();
      if (this.#reason !== null) this.#control.abort(this.#reason);
    }
    return this.#control.signal;
  }

  progress(fraction: number, note: string | null): void {
    if (this.state !== 'running' || this.isStopping) return;
    this.#tell({ kind: 'progress', lease: this.lease, fraction: within(fraction), note });
  }

  get log(): TaskLog {
    return this.#host.log(this);
  }

  /** What is said of the lease; when it turns out to be lost, that is known here first. */
  tell(item: ReportItem, onVerdict: (verdict: ItemVerdict) => void): void {
    this.#host.put(item, (verdict) => {
      if (verdict === 'lost') this.#host.onLost(this);
      onVerdict(verdict);
    });
  }

  /** Runs the handler to its end. Answers what there is to say of it, null for nothing. */
  async run(): Promise<ReportItem | null> {
    this.state = 'running';
    this.#tell({ kind: 'started', lease: this.lease });
    const item = await this.#outcome();
    this.state = 'ended';
    return item;
  }

  /** The first word counts, except that nobody listens any more. */
  stop(reason: MillraceError, word: StopWord): void {
    if (!this.isStopping || word === null) this.#stopWord = word;
    this.#reason ??= reason;
    this.#control?.abort(this.#reason);
  }

  async #outcome(): Promise<ReportItem | null> {
    const { lease, executor: name, input } = this.assignment;
    const executor = this.#host.executor(name);
    if (executor === undefined) return missing(lease, name);
    try {
      const value = await executor.run(JSON.parse(input) as Json, new AttemptContext(this));
      // It came to its end although it was told to stop: the leader decides what that is worth.
      if (this.isStopping && this.#stopWord === null) return null;
      const result = jsonText(value);
      if (result.isJson) return { kind: 'completed', lease, result: result.text };
      const error = { code: 'bad_result', message: `the result of ${name} ${result.fault}` };
      return { kind: 'failed', lease, error, failure: 'fatal' };
    } catch (thrown) {
      if (this.isStopping) {
        return this.#stopWord === null ? null : { kind: this.#stopWord, lease };
      }
      return { kind: 'failed', lease, ...classifyFailure(thrown) };
    }
  }

  #tell(item: ReportItem): void {
    this.#host.put(item, (verdict) => {
      if (verdict === 'lost') this.#host.onLost(this);
    });
  }
}

function missing(lease: LeaseName, name: string): ReportItem {
  const message = `executor '${name}' is not registered on worker`;
  return {
    kind: 'failed',
    lease,
    error: { code: 'missing_executor', message },
    failure: 'missing',
  };
}

function within(fraction: number): number {
  return Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0;
}
