/**
 * Runs bulk jobs in the process of the leader: they need the rights of the callers who submitted them, which no worker
 * has. It is a worker like any other, with one slot, and joins only while there is a bulk job.
 */
import { randomUUID } from 'node:crypto';
import type { NodeId, SessionId } from '../../../scheduler/core/index.ts';
import { BULK_NAME, ownHandshake } from '../../../scheduler/contract/index.ts';
import type { Reader, WorkerService } from '../../../scheduler/contract/index.ts';
import type { LeaderGateway } from '../../../scheduler/coordinator/index.ts';
import type { Clock } from '../../../kit/index.ts';
import { ExecutorRegistry } from '../../../tasks/executors/index.ts';
import { HeartbeatLoop, Worker } from '../../worker/index.ts';
import { bulkExecutor } from './bulk-executor.ts';

export interface BulkWorkerOptions {
  readonly nodeId: string;
  readonly gateway: LeaderGateway;
  readonly reader: Pick<Reader, 'job' | 'jobs'>;
  readonly clock: Clock;
  readonly say: (line: string) => void;
}

/** It leaves when there has been no bulk job for so long. */
const IDLE_MS = 30_000;

export class BulkWorker {
  readonly #options: BulkWorkerOptions;
  #worker: Worker | null = null;
  #isStopped = false;
  #cancelCheck: () => void = () => {};

  constructor(options: BulkWorkerOptions) {
    this.#options = options;
  }

  /** This node leads now: bulk jobs of the leader before it may wait. */
  resume(): void {
    this.#hasWork().then(
      (has) => {
        if (has) this.wake();
      },
      // The store does not answer: whoever leads next looks again.
      () => {},
    );
  }

  /** A bulk job was submitted. */
  wake(): void {
    if (this.#isStopped || this.#worker !== null) return;
    const { say } = this.#options;
    this.#worker = this.#open();
    this.#worker.start().catch((error: unknown) => {
      say(`Bulk jobs cannot run here: ${error instanceof Error ? error.message : String(error)}`);
    });
    this.#checkLater();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#close();
  }

  async #close(): Promise<void> {
    this.#cancelCheck();
    const worker = this.#worker;
    this.#worker = null;
    await worker?.stop();
  }

  #checkLater(): void {
    const { clock, gateway } = this.#options;
    this.#cancelCheck = clock.after(IDLE_MS, () => {
      const has = gateway.isOpen ? this.#hasWork() : Promise.resolve(false);
      has
        .catch(() => true)
        .then((isNeeded) => (isNeeded ? this.#checkLater() : this.#close()))
        .catch(() => {});
    });
  }

  async #hasWork(): Promise<boolean> {
    const { reader } = this.#options;
    const pages = await Promise.all(
      (['queued', 'running'] as const).map((state) =>
        reader.jobs({ name: BULK_NAME, state, limit: 1 }),
      ),
    );
    return pages.some(({ value }) => value.items.length > 0);
  }

  #open(): Worker {
    const { nodeId, clock, gateway, reader, say } = this.#options;
    const executors = new ExecutorRegistry();
    executors.add(bulkExecutor({ jobs: () => gateway.leader().jobs, reader }), 'Millrace');
    const leader = leaderOf(gateway);
    const random = Math.random;
    return new Worker({
      nodeId: `${nodeId}.bulk` as NodeId,
      slots: 1,
      prefetch: 0,
      executors,
      capabilities: {},
      address: null,
      handshake: ownHandshake(),
      leader,
      clock,
      random,
      newSessionId: () => randomUUID() as SessionId,
      startHeartbeat: (start, tell) =>
        new HeartbeatLoop({ leader, clock, random, start, tell, onStuck: () => {} }),
      log: { debug: () => {}, info: () => {}, warn: say, error: say },
      stuck: 'abandon',
      onStuck: () => {},
    });
  }
}

/** Whoever leads here at the moment of each call. */
function leaderOf(gateway: LeaderGateway): WorkerService {
  const workers = (): WorkerService => gateway.leader().workers;
  return {
    register: async (...all) => workers().register(...all),
    heartbeat: async (beat) => workers().heartbeat(beat),
    poll: async (request, signal) => workers().poll(request, signal),
    report: async (session, items) => workers().report(session, items),
    unneeded: async (session, queries, kind) => workers().unneeded(session, queries, kind),
    leave: async (session) => workers().leave(session),
    writeLogs: async (session, lines) => workers().writeLogs(session, lines),
  };
}
