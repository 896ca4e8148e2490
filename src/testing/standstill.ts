/** No time that passes brings the job further: it waits for a signal, for a node, or for its handler. */
export class StandstillError extends Error {
  override readonly name = 'StandstillError';
  readonly code = 'standstill';
  readonly jobId: string;
  /** For each task that keeps it, why. Those of a job that it has called stand here as JOB/TASK. */
  readonly waiting: Readonly<Record<string, string>>;

  constructor(jobId: string, name: string, waiting: Readonly<Record<string, string>>) {
    const reasons = Object.entries(waiting).map(([task, why]) => `task ${task} ${why}`);
    super(`Job ${jobId} (${name}) cannot make progress by advancing time: ${reasons.join('; ')}.`);
    this.jobId = jobId;
    this.waiting = waiting;
  }
}
