/** The one worker that lives, and the ones that took its place. */
import type {
  Executor,
  ExecutorRegistry,
  FlowDefinition,
  TaskLog,
} from '../tasks/executors/index.ts';
import type { Clock } from '../kit/index.ts';
import type { WorkerService, Session } from '../scheduler/contract/index.ts';
import type { CrashPlan } from './crashes.ts';
import type { History } from './history.ts';
import { TestWorker } from './test-worker.ts';
import { watched } from './watched-executor.ts';
import type { Watch } from './watched-executor.ts';

export interface FleetOptions {
  readonly clock: Clock;
  readonly slots: number;
  readonly log: TaskLog;
  readonly leader: WorkerService & { gone(session: Session): void };
  readonly executors: ExecutorRegistry;
  readonly history: History;
  readonly plan: CrashPlan;
  readonly onMoved: () => void;
}

export class Fleet {
  readonly #options: FleetOptions;
  readonly #watch: Watch;
  #current: TestWorker;
  #workers = 0;

  constructor(options: FleetOptions) {
    this.#options = options;
    const { plan, history, onMoved } = options;
    this.#watch = { plan, history, onMoved, crash: () => this.#crash() };
    this.#current = this.#next();
  }

  async start(): Promise<void> {
    await this.#current.worker.start();
  }

  /** What has its name already stays: fakes come first. */
  learn(executor: Executor): void {
    const { executors } = this.#options;
    if (executors.get(executor.name) !== undefined) return;
    executors.add(watched(executor, this.#watch), 'the test');
  }

  /** It can be started by its name. */
  learnFlow(flow: FlowDefinition): void {
    const { executors } = this.#options;
    executors.addFlow(flow, 'the test', (executor) => watched(executor, this.#watch));
  }

  /** Tells the leader of what was learnt. */
  async announce(): Promise<void> {
    await this.#current.worker.offer([], 'the test');
  }

  stop(): void {
    this.#current.die();
  }

  #next(): TestWorker {
    this.#workers += 1;
    const { history, plan } = this.#options;
    return new TestWorker({
      ...this.#options,
      no: this.#workers,
      learn: (executor) => this.learn(executor),
      onReport: (item, { jobId, taskId }) => history.reported(item, jobId, taskId),
      onAccepted: ({ kind }, { jobId: job, taskId: task }) => {
        if (kind === 'completed' && plan.isHere({ task, job, at: 'after' })) this.#crash();
      },
    });
  }

  #crash(): void {
    const { leader, history, onMoved, log } = this.#options;
    const session = this.#current.die();
    history.crashed();
    if (session !== null) leader.gone(session);
    this.#current = this.#next();
    this.#current.worker.start().catch((error: unknown) => {
      log.error(error instanceof Error ? error.message : String(error));
    });
    onMoved();
  }
}
