/** What the sessions of workers keep of what their parts have made. It goes with the session. */
import type { Network } from './network.ts';

interface RetainedOutput {
  readonly node: string;
  readonly isAlive: () => boolean;
  /** By job, then task and fence. */
  readonly jobs: Map<string, Set<string>>;
}

export class RetainedOutputs {
  readonly #network: Network;
  readonly #retainedOutputs: Map<string, RetainedOutput> = new Map();

  constructor(network: Network) {
    this.#network = network;
  }

  open(session: string, node: string, isAlive: () => boolean): void {
    this.#retainedOutputs.set(session, { node, isAlive, jobs: new Map() });
  }

  put(session: string, jobId: string, output: string): void {
    const retained = this.#retainedOutputs.get(session);
    const kept = retained?.jobs.get(jobId) ?? new Set();
    retained?.jobs.set(jobId, kept.add(output));
  }

  /** Whether somebody at `reader` can get it. */
  has(reader: string, session: string, jobId: string, output: string): boolean {
    const retained = this.#retainedOutputs.get(session);
    if (retained === undefined || !retained.isAlive()) return false;
    if (reader !== retained.node && !this.#network.connects(reader, retained.node)) return false;
    return retained.jobs.get(jobId)?.has(output) === true;
  }

  jobs(session: string): string[] {
    return [...(this.#retainedOutputs.get(session)?.jobs.keys() ?? [])];
  }

  drop(session: string, jobId: string): void {
    this.#retainedOutputs.get(session)?.jobs.delete(jobId);
  }
}
