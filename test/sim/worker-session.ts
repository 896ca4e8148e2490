/**
 * A worker's session: registers, sends heartbeats, polls for work, reports until it has a verdict,
 * and stops everything by itself before its leases can have expired. When the leader says that the
 * session is over, all work is dropped on the spot.
 */
import { isMillraceError } from '../../src/scheduler/core/index.ts';
import type * as core from '../../src/scheduler/core/index.ts';
import type { Leader } from '../../src/scheduler/coordinator/index.ts';
import { ownHandshake } from '../../src/scheduler/contract/index.ts';
import type { ReadyAssignment, Session, WorkerReport } from '../../src/scheduler/contract/index.ts';
import { deferred } from '../../src/kit/index.ts';
import { behave } from './behaviour.ts';
import { isPassing } from './cluster.ts';
import type { Connection } from './cluster.ts';
import { Handler } from './handler.ts';
import type { WorkerOptions } from './worker.ts';
import type { Life } from './process.ts';
import type { Random } from './random.ts';

/** Work is told to stop this far into the session's TTL without an answer, and killed here. */
const SOFT_SHARE = 0.75;
const HARD_SHARE = 0.9;

interface Held {
  readonly lease: core.LeaseName;
  readonly handler: Handler;
}

const TERMINAL: ReadonlySet<WorkerReport['kind']> = new Set([
  'completed',
  'failed',
  'aborted',
  'released',
  'inputLost',
  'suspended',
]);

export class WorkerSession {
  readonly offer: core.NodeOffer;
  readonly #options: WorkerOptions;
  readonly #life: Life;
  readonly #connection: Connection;
  readonly #random: Random;
  readonly #onEnd: () => void;
  readonly #held: Map<string, Held> = new Map();
  /** Leases that came to an end here: an assignment that is sent again must not run again. */
  readonly #done: Set<string> = new Set();
  #outbox: WorkerReport[] = [];
  #wakeReporter: () => void = () => {};
  #pollNo = 0;
  #seenPoll = 0;
  /** Own time at which the last answered heartbeat was sent. */
  #renewedAtMs = 0;
  #cancelDeadline: () => void = () => {};
  #isDraining = false;
  #isOver = false;

  constructor(
    options: WorkerOptions,
    life: Life,
    connection: Connection,
    offer: core.NodeOffer,
    onEnd: () => void,
  ) {
    this.#options = options;
    this.#life = life;
    this.#connection = connection;
    this.#random = options.random.fork(offer.sessionId);
    this.offer = offer;
    this.#onEnd = onEnd;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get #session(): Session {
    return { nodeId: this.offer.id, sessionId: this.offer.sessionId };
  }

  async run(): Promise<void> {
    await this.#register();
    if (this.#isOver) return;
    this.#say('is registered');
    const { retainedOutputs } = this.#options;
    const isAlive = (): boolean => !this.#isOver && !this.#life.isOver;
    retainedOutputs.open(this.offer.sessionId, this.offer.id, isAlive);
    await Promise.all([this.#beat(), this.#poll(), this.#report(), this.#tidy()]);
  }

  /** Finishes or gives back what it has, says goodbye and ends. */
  drain(): void {
    if (this.#isDraining || this.#isOver) return;
    this.#isDraining = true;
    this.#say('drains');
    this.#leaveWhenIdle().catch((error: unknown) => this.#surprise('leave', error));
  }

  async #register(): Promise<void> {
    while (!this.#isOver) {
      const sentAtMs = this.#life.clock.monotonicMs();
      try {
        await this.#ask('register', 2_000, (desk) => desk.register(this.offer, ownHandshake()));
        return this.#renewed(sentAtMs);
      } catch (error) {
        this.#failed('register', error);
        await this.#wait(200, 1_000);
      }
    }
  }

  async #beat(): Promise<void> {
    const { heartbeatMs } = this.#options.settings;
    while (!this.#isOver) {
      const sentAtMs = this.#life.clock.monotonicMs();
      try {
        const { id: nodeId, sessionId, executors } = this.offer;
        const held = this.#names();
        const beat = { nodeId, sessionId, executors, held, seenPoll: this.#seenPoll };
        const orders = await this.#ask('heartbeat', heartbeatMs, (desk) => desk.heartbeat(beat));
        this.#renewed(sentAtMs);
        this.#obey(orders);
        await this.#wait(heartbeatMs * 0.8, heartbeatMs);
      } catch (error) {
        this.#failed('heartbeat', error);
        await this.#wait(heartbeatMs * 0.1, heartbeatMs * 0.4);
      }
    }
  }

  async #poll(): Promise<void> {
    while (!this.#isOver) {
      // For what an answer that was lost would have brought: nobody else can give it back.
      const isLast = this.#isDraining;
      const capacity = isLast ? 0 : this.offer.slots - this.#held.size;
      // One without room now may have some when a task has ended.
      const refills = !isLast && this.#pollNo % 3 !== 0;
      if (capacity <= 0 && !refills && !isLast) {
        this.#pollNo += 1;
        await this.#wait(20, 200);
        continue;
      }
      this.#pollNo += 1;
      const pollNo = this.#pollNo;
      const { id: nodeId, sessionId } = this.offer;
      const asked = { pollNo, capacity, held: this.#names(), refills, waits: !isLast };
      const request = { nodeId, sessionId, ...asked };
      const timeoutMs = this.#options.settings.heartbeatMs * 3;
      try {
        const reply = await this.#connection.ask('poll', timeoutMs, (service) => {
          const parked = new AbortController();
          service.life.clock.after(service.parkMs, () => parked.abort());
          return service.leader().workers.poll(request, parked.signal);
        });
        if (this.#isOver) return;
        for (const assignment of reply.assignments) this.#take(assignment);
        this.#seenPoll = pollNo;
        this.#obey(reply.orders);
        if (isLast) return;
        if (reply.assignments.length === 0) await this.#wait(10, 100);
      } catch (error) {
        this.#failed('poll', error);
        await this.#wait(50, 500);
      }
    }
  }

  #take(assignment: ReadyAssignment): void {
    const { lease } = assignment;
    const key = keyOf(lease);
    this.#options.witness.assigned(this.offer.id, assignment);
    if (this.#held.has(key) || this.#done.has(key)) return;
    const { witness, handlers } = this.#options;
    const { id: node, sessionId } = this.offer;
    const place = { node, session: sessionId, retainedOutputs: this.#options.retainedOutputs };
    const behaviour = behave(this.#options.dice, handlers(), assignment, place);
    const handler = new Handler({
      lease,
      assignedAt: assignment.assignedAt,
      life: this.#life,
      behaviour,
      witness,
      report: (item) => this.#enqueue(item),
      mayRun: () => this.#mayRun(),
      onKilled: this.#options.onKilled,
    });
    if (behaviour.kills) witness.poisons.add(`${lease.jobNo}/${lease.taskNo}`);
    this.#held.set(key, { lease, handler });
    this.#say(`takes ${assignment.jobId}/${assignment.taskId} fence ${lease.fence}`);
    if (!this.#mayRun() || this.#isDraining) {
      handler.kill();
      return this.#enqueue({ kind: 'released', lease });
    }
    handler.start();
  }

  #obey(orders: core.Orders): void {
    if (this.#isOver) return;
    for (const lease of orders.abort) {
      const held = this.#held.get(keyOf(lease));
      if (held !== undefined) held.handler.abort();
      // It was let go here and the leader does not know: say so, or it would wait for ever.
      else if (!this.#hasWordOf(lease)) {
        this.#done.add(keyOf(lease));
        this.#enqueue({ kind: 'aborted', lease });
      }
    }
    if (orders.drain) this.drain();
  }

  async #report(): Promise<void> {
    while (!this.#isOver) {
      if (this.#outbox.length === 0) await this.#nextItem();
      await this.#wait(0, 20);
      const items = this.#outbox.slice(0, this.#random.whole(1, 20));
      if (items.length === 0 || this.#isOver) continue;
      try {
        const reply = await this.#ask('report', 2_000, (desk) => desk.report(this.#session, items));
        if (this.#isOver) return;
        this.#outbox = this.#outbox.filter((item) => !items.includes(item));
        items.forEach((item, at) => this.#judged(item, reply.verdicts[at] as core.Verdict));
        this.#obey(reply.orders);
      } catch (error) {
        this.#failed('report', error);
        await this.#wait(50, 500);
      }
    }
  }

  #judged(item: WorkerReport, verdict: core.Verdict): void {
    const key = keyOf(item.lease);
    this.#options.witness.verdict(this.offer.id, item, verdict);
    if (verdict !== 'ok') this.#say(`hears ${verdict}: ${item.kind} of ${key}`);
    if (TERMINAL.has(item.kind)) {
      this.#held.delete(key);
      this.#done.add(key);
    } else if (verdict === 'lost') this.#letGo(item.lease);
  }

  /** Not ours any more, or being taken back: stop it and say so. */
  #letGo(lease: core.LeaseName): void {
    const held = this.#held.get(keyOf(lease));
    if (held === undefined || held.handler.isOver) return;
    held.handler.kill();
    this.#enqueue({ kind: 'aborted', lease });
  }

  /** Throws away what the leader says that nobody needs any more. */
  async #tidy(): Promise<void> {
    const { retainedOutputs, witness } = this.#options;
    const { sessionId } = this.offer;
    const dice = this.#random.fork('tidy');
    while (!this.#isOver) {
      await this.#wait(1_000, 10_000, dice);
      const jobs = retainedOutputs.jobs(sessionId) as core.JobId[];
      if (jobs.length === 0 || this.#isOver) continue;
      const asked = jobs.map((jobId) => witness.runOf(jobId));
      try {
        const session = this.#session;
        const gone = await this.#ask('unneeded', 2_000, (desk) => desk.unneeded(session, jobs));
        for (const jobId of gone) {
          witness.unneeded(this.offer.id, jobId, asked[jobs.indexOf(jobId)] ?? 0);
          retainedOutputs.drop(sessionId, jobId);
        }
      } catch (error) {
        this.#failed('unneeded', error);
      }
    }
  }

  async #leaveWhenIdle(): Promise<void> {
    const untilMs = this.#life.clock.monotonicMs() + this.#random.between(500, 8_000);
    while (!this.#isOver && this.#held.size > 0) {
      await this.#wait(50, 200);
      if (this.#life.clock.monotonicMs() < untilMs) continue;
      for (const { lease, handler } of this.#held.values()) {
        if (handler.isOver) continue;
        handler.kill();
        this.#enqueue({ kind: 'released', lease });
      }
    }
    while (!this.#isOver) {
      try {
        await this.#ask('leave', 2_000, (desk) => desk.leave(this.#session));
        this.end('has left');
      } catch (error) {
        this.#failed('leave', error);
        await this.#wait(100, 500);
      }
    }
  }

  /** Everything stops here and now. */
  end(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#say(why);
    this.#cancelDeadline();
    for (const { handler } of this.#held.values()) handler.kill();
    this.#held.clear();
    this.#wakeReporter();
    this.#onEnd();
  }

  #renewed(sentAtMs: number): void {
    this.#renewedAtMs = Math.max(this.#renewedAtMs, sentAtMs);
    this.#cancelDeadline();
    const { sessionTtlMs } = this.#options.settings;
    const softMs = this.#renewedAtMs + sessionTtlMs * SOFT_SHARE;
    const cancelSoft = this.#at(softMs, () => {
      for (const { handler } of this.#held.values()) handler.abort();
    });
    const cancelHard = this.#at(this.#hardMs(), () => void this.#mayRun());
    this.#cancelDeadline = () => {
      cancelSoft();
      cancelHard();
    };
  }

  /** Whether the session can still be alive; if not, nothing of it runs any longer. */
  #mayRun(): boolean {
    if (this.#isOver) return false;
    if (this.#life.clock.monotonicMs() < this.#hardMs()) return true;
    for (const { lease } of this.#held.values()) this.#letGo(lease);
    return false;
  }

  #hardMs(): number {
    return this.#renewedAtMs + this.#options.settings.sessionTtlMs * HARD_SHARE;
  }

  #at(ownMs: number, act: () => void): () => void {
    const { clock } = this.#life;
    return clock.after(Math.max(0, ownMs - clock.monotonicMs()), act);
  }

  #failed(what: string, error: unknown): void {
    if (this.#isOver || isPassing(error)) return;
    // Another one has the name, or the last one that had it is not known to be gone.
    if (isMillraceError(error, 'name_taken')) return;
    if (what === 'register' && isMillraceError(error, 'conflict')) return;
    const isGone =
      isMillraceError(error, 'unknown_session') || isMillraceError(error, 'superseded');
    if (isGone) this.end(`is told ${error.code}`);
    else this.#surprise(what, error);
  }

  #surprise(what: string, error: unknown): void {
    const { findings } = this.#options;
    findings.add('refusals', `${this.offer.id}: ${what} was refused: ${String(error)}`);
  }

  #enqueue(item: WorkerReport): void {
    if (item.kind === 'failed' && item.failure === 'missing') this.#options.onMissing();
    this.#outbox.push(item);
    this.#wakeReporter();
  }

  #hasWordOf(lease: core.LeaseName): boolean {
    const key = keyOf(lease);
    return this.#outbox.some((item) => TERMINAL.has(item.kind) && keyOf(item.lease) === key);
  }

  #nextItem(): Promise<void> {
    const next = deferred();
    this.#wakeReporter = next.resolve;
    return next.promise;
  }

  #ask<T>(
    what: string,
    timeoutMs: number,
    act: (desk: Leader['workers']) => Promise<T>,
  ): Promise<T> {
    return this.#connection.ask(what, timeoutMs, (service) => act(service.leader().workers));
  }

  #names(): core.LeaseName[] {
    return [...this.#held.values()].map(({ lease }) => lease);
  }

  #wait(fromMs: number, toMs: number, dice: Random = this.#random): Promise<void> {
    const done = deferred();
    this.#life.clock.after(dice.between(fromMs, toMs), done.resolve);
    return done.promise;
  }

  #say(what: string): void {
    this.#options.world.say(this.offer.id, `[${this.offer.sessionId}] ${what}`);
  }
}

function keyOf({ jobNo, taskNo, fence, term }: core.LeaseName): string {
  return `${jobNo}/${taskNo}/${fence}/${term}`;
}
