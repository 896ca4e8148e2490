import type { Instant, JobId } from '../../core/index.ts';
import type { LogFilter, LogRow, NumberedLogRow, TaskLogStore } from '../task-log.ts';

export class MemoryTaskLog implements TaskLogStore {
  readonly #jobs: Map<string, { readonly rows: NumberedLogRow[]; last: number; at: Instant }> =
    new Map();
  readonly #now: () => Instant;
  readonly #hasJob: (shard: number, id: JobId) => boolean;

  constructor(now: () => Instant, hasJob: (shard: number, id: JobId) => boolean) {
    this.#now = now;
    this.#hasJob = hasJob;
  }

  async append(shard: number, rows: readonly LogRow[]): Promise<void> {
    for (const row of rows) {
      const key = `${shard}/${row.jobId}`;
      const log = this.#jobs.get(key) ?? { rows: [], last: 0, at: this.#now() };
      this.#jobs.set(key, log);
      log.last += 1;
      log.at = this.#now();
      log.rows.push({ ...row, seq: log.last });
    }
  }

  async read(
    shard: number,
    { jobId, after, limit, taskId, attempt }: LogFilter,
  ): Promise<readonly NumberedLogRow[]> {
    const rows = this.#jobs.get(`${shard}/${jobId}`)?.rows ?? [];
    return rows
      .filter(
        (row) =>
          row.seq > after &&
          (taskId === undefined || row.taskId === taskId) &&
          (attempt === undefined || row.attempt === attempt),
      )
      .slice(0, limit);
  }

  async prune(shard: number, quietMs: number): Promise<boolean> {
    for (const [key, { at }] of this.#jobs) {
      const id = key.slice(key.indexOf('/') + 1) as JobId;
      if (!key.startsWith(`${shard}/`) || this.#now() - at < quietMs) continue;
      if (!this.#hasJob(shard, id)) this.#jobs.delete(key);
    }
    return false;
  }

  async remove(shard: number, jobId: JobId): Promise<void> {
    this.#jobs.delete(`${shard}/${jobId}`);
  }
}
