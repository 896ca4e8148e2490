import { isMillraceError } from '../../core/index.ts';
import type { LeaseName, NodeId, ReportItem, SessionId } from '../../core/index.ts';
import type { Leader } from '../../coordinator/index.ts';
import { ownHandshake } from '../../protocol/index.ts';
import type { ReadyAssignment } from '../../protocol/index.ts';
import type { Clock } from '../../kit/index.ts';

export type Work = (input: unknown) => unknown;

export interface DemoWorkerOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly work: Readonly<Record<string, Work>>;
  readonly workMs: number;
  /** Dies when it has taken so many tasks, before it reports any of its last batch. */
  readonly diesAtTask?: number;
}

/** What a worker is told that reports after its time. */
export interface LateAnswer {
  readonly isRefused: boolean;
  readonly text: string;
}

/**
 * The smallest thing that keeps the worker's side of the protocol, inside this process: it
 * registers, polls, works, reports, and renews its session while it does.
 */
export class DemoWorker {
  readonly name: string;
  readonly sessionId: SessionId;
  readonly #work: Readonly<Record<string, Work>>;
  readonly #clock: Clock;
  readonly #workMs: number;
  readonly #diesAtTask: number;
  readonly #held: Map<string, LeaseName> = new Map();
  readonly #endPauses: Set<() => void> = new Set();
  #leader: Leader | null = null;
  #pollNo = 0;
  #taken = 0;
  #isAlive = true;

  constructor(options: DemoWorkerOptions) {
    this.name = options.name;
    this.sessionId = `${options.name}-session` as SessionId;
    this.#clock = options.clock;
    this.#work = options.work;
    this.#workMs = options.workMs;
    this.#diesAtTask = options.diesAtTask ?? Infinity;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get held(): readonly LeaseName[] {
    return [...this.#held.values()];
  }

  /** Follows a leader: the first one, or the next after a fail-over. */
  async follow(leader: Leader): Promise<void> {
    const isNew = this.#leader === null;
    this.#leader = leader;
    if (!isNew) return;
    const offer = {
      id: this.name as NodeId,
      sessionId: this.sessionId,
      slots: 2,
      executors: Object.keys(this.#work),
      capabilities: {},
      address: null,
      version: 'demo',
    };
    await leader.workers.register(offer, ownHandshake());
    void this.#renewForEver();
    void this.#pollForEver();
  }

  /** Falls silent, as a process does that was killed. What it held, it holds for ever. */
  die(): void {
    this.#isAlive = false;
    // A timer that is left running would keep the process from ending.
    for (const end of this.#endPauses) end();
  }

  /** Speaks again with what it had: a process that was only paused. Answers what it is told. */
  async reportLate(): Promise<LateAnswer> {
    const [lease] = this.held;
    if (lease === undefined || this.#leader === null) {
      return { isRefused: false, text: 'nothing, for it held nothing' };
    }
    try {
      const item: ReportItem = { kind: 'completed', lease, result: '"from the dead"' };
      const { verdicts } = await this.#leader.workers.report(this.#session, [item]);
      const [verdict] = verdicts;
      const isRefused = verdict === 'lost';
      return { isRefused, text: verdict ?? 'nothing' };
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      const isRefused = error.code === 'unknown_session' || error.code === 'superseded';
      return { isRefused, text: error.message };
    }
  }

  get #session(): { readonly nodeId: NodeId; readonly sessionId: SessionId } {
    return { nodeId: this.name as NodeId, sessionId: this.sessionId };
  }

  async #renewForEver(): Promise<void> {
    while (this.#isAlive) {
      const executors = Object.keys(this.#work);
      const beat = { ...this.#session, held: this.held, executors, seenPoll: this.#pollNo };
      // Between two leaders nobody answers: the next beat finds the new one.
      await this.#leader?.workers.heartbeat(beat).catch(() => {});
      await this.#pause(100);
    }
  }

  async #pollForEver(): Promise<void> {
    while (this.#isAlive) {
      this.#pollNo += 1;
      const request = { ...this.#session, pollNo: this.#pollNo, capacity: 2, held: this.held };
      const reply = await this.#leader?.workers.poll(request).catch(() => undefined);
      if (reply === undefined) await this.#pause(50);
      else await this.#runAll(reply.assignments);
    }
  }

  async #runAll(assignments: readonly ReadyAssignment[]): Promise<void> {
    for (const { lease } of assignments) this.#held.set(keyOf(lease), lease);
    this.#taken += assignments.length;
    if (this.#taken >= this.#diesAtTask) this.die();
    else await Promise.all(assignments.map((assignment) => this.#run(assignment)));
  }

  async #run({ lease, executor, input }: ReadyAssignment): Promise<void> {
    await this.#pause(this.#workMs);
    if (!this.#isAlive) return;
    const result = this.#work[executor]?.(JSON.parse(input));
    await this.#report([
      { kind: 'started', lease },
      { kind: 'completed', lease, result: JSON.stringify(result ?? null) },
    ]);
    this.#held.delete(keyOf(lease));
  }

  /** Until there is a verdict: a report that nobody answered is repeated, which is safe. */
  async #report(items: readonly ReportItem[]): Promise<void> {
    for (;;) {
      const reply = await this.#leader?.workers.report(this.#session, items).catch(() => undefined);
      if (reply !== undefined || !this.#isAlive) return;
      await this.#pause(50);
    }
  }

  #pause(ms: number): Promise<void> {
    if (!this.#isAlive) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        this.#endPauses.delete(end);
        resolve();
      };
      const cancel = this.#clock.after(ms, end);
      this.#endPauses.add(end);
    });
  }
}

function keyOf({ jobNo, taskNo }: LeaseName): string {
  return `${jobNo}/${taskNo}`;
}
