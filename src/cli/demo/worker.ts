import type { LeaseName, NodeId, ReportItem, SessionId } from '../../core/index.ts';
import type { Leader, ReadyAssignment } from '../../coordinator/index.ts';
import type { Clock } from '../../kit/index.ts';

export type Work = (input: unknown) => unknown;

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
  readonly #held: Map<string, LeaseName> = new Map();
  #leader: Leader | null = null;
  #pollNo = 0;
  #isAlive = true;
  done = 0;

  constructor(name: string, clock: Clock, work: Readonly<Record<string, Work>>, workMs: number) {
    this.name = name;
    this.sessionId = `${name}-session` as SessionId;
    this.#clock = clock;
    this.#work = work;
    this.#workMs = workMs;
  }

  get held(): readonly LeaseName[] {
    return [...this.#held.values()];
  }

  /** Follows a leader: the first one, or the next after a fail-over. */
  async follow(leader: Leader): Promise<void> {
    const isNew = this.#leader === null;
    this.#leader = leader;
    if (!isNew) return;
    await leader.workers.register({
      id: this.name as NodeId,
      sessionId: this.sessionId,
      slots: 2,
      executors: Object.keys(this.#work),
      capabilities: {},
      address: null,
      version: 'demo',
    });
    void this.#renewForEver();
    void this.#pollForEver();
  }

  /** Falls silent, as a process does that was killed. What it held, it holds for ever. */
  die(): void {
    this.#isAlive = false;
  }

  /** Speaks again with what it had: a process that was only paused. Answers what it is told. */
  async reportLate(): Promise<string> {
    const [lease] = this.held;
    if (lease === undefined || this.#leader === null) return 'it held nothing';
    try {
      const item: ReportItem = { kind: 'completed', lease, result: '"from the dead"' };
      const { verdicts } = await this.#leader.workers.report(this.#session, [item]);
      return verdicts[0] ?? 'nothing';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  get #session(): { readonly nodeId: NodeId; readonly sessionId: SessionId } {
    return { nodeId: this.name as NodeId, sessionId: this.sessionId };
  }

  async #renewForEver(): Promise<void> {
    while (this.#isAlive) {
      const beat = { ...this.#session, held: this.held, seenPoll: this.#pollNo };
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
      else await Promise.all(reply.assignments.map((assignment) => this.#run(assignment)));
    }
  }

  async #run({ lease, executor, input }: ReadyAssignment): Promise<void> {
    const key = `${lease.jobNo}/${lease.taskNo}`;
    this.#held.set(key, lease);
    await this.#pause(this.#workMs);
    if (!this.#isAlive) return;
    const result = this.#work[executor]?.(JSON.parse(input));
    await this.#report([
      { kind: 'started', lease },
      { kind: 'completed', lease, result: JSON.stringify(result ?? null) },
    ]);
    this.#held.delete(key);
    this.done += 1;
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
    return new Promise((resolve) => {
      this.#clock.after(ms, resolve);
    });
  }
}
