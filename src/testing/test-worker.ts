/** A worker that can die: from then on nothing that it sends arrives and nothing that it receives is passed on. */
import type { LeaseName, NodeId, SessionId } from '../scheduler/core/index.ts';
import type { Executor, ExecutorRegistry, TaskLog } from '../tasks/executors/index.ts';
import type { Clock } from '../kit/index.ts';
import { ownHandshake } from '../scheduler/contract/index.ts';
import type { WorkerService, Session, WorkerReport } from '../scheduler/contract/index.ts';
import { HeartbeatLoop, Worker } from '../node/worker/index.ts';

export interface TestWorkerOptions {
  readonly no: number;
  readonly slots: number;
  readonly clock: Clock;
  readonly leader: WorkerService;
  readonly executors: ExecutorRegistry;
  readonly learn: (executor: Executor) => void;
  readonly log: TaskLog;
  /** Something has moved. */
  readonly onMoved: () => void;
  /** Before it is reported to the leader. */
  readonly onReport: (item: WorkerReport, about: TaskName) => void;
  /** The leader has taken it in. */
  readonly onAccepted: (item: WorkerReport, about: TaskName) => void;
}

export interface TaskName {
  readonly jobId: string;
  readonly taskId: string;
}

export class TestWorker {
  readonly worker: Worker;
  readonly #options: TestWorkerOptions;
  /** Reports name their task by numbers. */
  readonly #names: Map<string, TaskName> = new Map();
  #session: Session | null = null;
  #isDead = false;

  constructor(options: TestWorkerOptions) {
    this.#options = options;
    const { no, slots, executors, learn, log } = options;
    const clock = this.#mortalClock();
    const leader = this.#mortalLine();
    const random = (): number => 0.5;
    let sessions = 0;
    this.worker = new Worker({
      nodeId: `worker-${no}` as NodeId,
      slots,
      // What is held ready would be lost with the worker, and blur what a crash costs.
      prefetch: 0,
      executors,
      learn,
      capabilities: {},
      address: null,
      handshake: ownHandshake(),
      leader,
      clock,
      random,
      newSessionId: () => {
        sessions += 1;
        return `worker-${no}-${sessions}` as SessionId;
      },
      startHeartbeat: (start, tell) =>
        new HeartbeatLoop({ leader, clock, random, start, tell, onStuck: () => {} }),
      log,
      stuck: 'abandon',
      onStuck: () => {},
      onSession: (session) => (this.#session = session),
    });
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Returns the session that died. */
  die(): Session | null {
    this.#isDead = true;
    return this.#session;
  }

  #mortalClock(): Clock {
    const { clock } = this.#options;
    return {
      monotonicMs: () => clock.monotonicMs(),
      after: (ms, fn) =>
        clock.after(ms, () => {
          if (!this.#isDead) fn();
        }),
    };
  }

  #mortalLine(): WorkerService {
    const { leader, onReport, onAccepted } = this.#options;
    return {
      register: (...all) => this.#alive(() => leader.register(...all)),
      heartbeat: (beat) => this.#alive(() => leader.heartbeat(beat)),
      poll: (request, signal) =>
        this.#alive(async () => {
          const reply = await leader.poll(request, signal);
          for (const { lease, jobId, taskId } of reply.assignments) {
            this.#names.set(numbersOf(lease), { jobId, taskId });
          }
          return reply;
        }),
      unneeded: (session, queries, kind) =>
        this.#alive(() => leader.unneeded(session, queries, kind)),
      writeLogs: (session, lines) => this.#alive(() => leader.writeLogs(session, lines)),
      leave: (session) => this.#alive(() => leader.leave(session)),
      report: (session, items) =>
        this.#alive(async () => {
          for (const item of items) this.#about(item, onReport);
          const reply = await leader.report(session, items);
          for (const [at, item] of items.entries()) {
            if (reply.verdicts[at] === 'ok') this.#about(item, onAccepted);
          }
          return reply;
        }),
    };
  }

  #about(item: WorkerReport, tell: TestWorkerOptions['onReport']): void {
    const name = this.#names.get(numbersOf(item.lease));
    if (name !== undefined) tell(item, name);
  }

  /** A dead worker waits for ever. */
  #alive<T>(call: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isDead) return;
      const heard =
        <V>(tell: (value: V) => void) =>
        (value: V): void => {
          if (this.#isDead) return;
          this.#options.onMoved();
          tell(value);
        };
      this.#options.onMoved();
      call().then(heard(resolve), heard(reject));
    });
  }
}

function numbersOf({ jobNo, taskNo }: LeaseName): string {
  return `${jobNo}/${taskNo}`;
}
