/** What the sessions of workers keep of what their parts have made. It goes with the session. */
import type { Network } from './network.ts';

interface Shelf {
  readonly node: string;
  readonly isAlive: () => boolean;
  /** By job, then task and fence. */
  readonly jobs: Map<string, Set<string>>;
}

export class Shelves {
  readonly #network: Network;
  readonly #shelves: Map<string, Shelf> = new Map();

  constructor(network: Network) {
    this.#network = network;
  }

  open(session: string, node: string, isAlive: () => boolean): void {
    this.#shelves.set(session, { node, isAlive, jobs: new Map() });
  }

  put(session: string, jobId: string, output: string): void {
    const shelf = this.#shelves.get(session);
    const kept = shelf?.jobs.get(jobId) ?? new Set();
    shelf?.jobs.set(jobId, kept.add(output));
  }

  /** Whether somebody at `reader` can get it. */
  has(reader: string, session: string, jobId: string, output: string): boolean {
    const shelf = this.#shelves.get(session);
    if (shelf === undefined || !shelf.isAlive()) return false;
    if (reader !== shelf.node && !this.#network.connects(reader, shelf.node)) return false;
    return shelf.jobs.get(jobId)?.has(output) === true;
  }

  jobs(session: string): string[] {
    return [...(this.#shelves.get(session)?.jobs.keys() ?? [])];
  }

  drop(session: string, jobId: string): void {
    this.#shelves.get(session)?.jobs.delete(jobId);
  }
}
