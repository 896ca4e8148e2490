import type { JobId } from '../../scheduler/core/index.ts';

/** The newest ids that are remembered. */
const IDS_MAX = 100_000;

/** Jobs that were acknowledged by this node and are gone with the history of the database. */
export class LostJobs {
  readonly #since: Map<JobId, string> = new Map();

  add(ids: readonly JobId[], at: Date): void {
    for (const id of ids) this.#since.set(id, at.toISOString());
    for (const id of this.#since.keys()) {
      if (this.#since.size <= IDS_MAX) return;
      this.#since.delete(id);
    }
  }

  /** Why there is no such job; null when that is not known. */
  why(id: JobId): string | null {
    const at = this.#since.get(id);
    if (at === undefined) return null;
    return `It was accepted, and lost when the database lost its last commits (detected at ${at}).`;
  }
}
