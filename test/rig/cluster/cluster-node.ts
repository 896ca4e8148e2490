/** One node of a test's cluster: it can be started again after it was killed, under the same name and address. */
import { TestProcess } from './process.ts';
import type { Proxy } from './proxy.ts';

export interface NodePlan {
  readonly id: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The line that says it accepts work. */
  readonly ready: RegExp;
  /** HTTP address; null for a worker. */
  readonly url: string | null;
  /** `host:port` of its gRPC server, or of what a worker listens on. */
  readonly grpc: string;
  /** What stands before its two ports, if it was asked for. */
  readonly ways: Ways | null;
}

export interface Ways {
  readonly http: Proxy | null;
  readonly grpc: Proxy;
}

export class ClusterNode {
  readonly plan: NodePlan;
  #process: TestProcess | null = null;

  constructor(plan: NodePlan) {
    this.plan = plan;
  }

  get id(): string {
    return this.plan.id;
  }

  get wasStarted(): boolean {
    return this.#process !== null;
  }

  get isRunning(): boolean {
    return this.#process?.isRunning === true;
  }

  /** What it said, if it was ever started. */
  get output(): string {
    return this.#process?.output.text() ?? '';
  }

  get process(): TestProcess {
    if (this.#process === null) throw new Error(`node ${this.id} was not started`);
    return this.#process;
  }

  /** Resolves when it accepts work. */
  async start(limitMs?: number): Promise<void> {
    this.launch();
    await this.process.line(this.plan.ready, limitMs);
  }

  /** Without waiting for anything. */
  launch(): TestProcess {
    if (this.isRunning) throw new Error(`node ${this.id} is running`);
    const { args, environment } = this.plan;
    this.#process = TestProcess.start(args, { environment });
    return this.#process;
  }
}
