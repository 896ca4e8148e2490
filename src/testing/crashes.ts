/** Where a worker is to die. Each crash happens once. */
import { MillraceError } from '../scheduler/core/index.ts';

export interface CrashPoint {
  /** The id of the task in its flow. */
  readonly task: string;
  /** A step of it by name; without it the task itself. */
  readonly step?: string;
  /**
   * `before`: nothing of it has happened. `during`: it has been done, and not reported, so it is done
   * again. `after`: it is recorded, and the worker dies right then.
   */
  readonly at: 'before' | 'during' | 'after';
  /** Only in this job; without it in the first that comes there. */
  readonly job?: string;
}

export class CrashPlan {
  readonly #points: CrashPoint[] = [];

  add(point: CrashPoint): void {
    if (!['before', 'during', 'after'].includes(point.at)) {
      throw new MillraceError({
        code: 'bad_input',
        what: `${JSON.stringify(point.at)} is not a valid crash point.`,
        todo: "Say 'before', 'during' or 'after'.",
      });
    }
    this.#points.push(point);
  }

  /** True once for each crash that was planned for this very place. */
  isHere(place: CrashPoint): boolean {
    const at = this.#points.findIndex(
      (point) =>
        point.task === place.task &&
        point.step === place.step &&
        point.at === place.at &&
        (point.job ?? place.job) === place.job,
    );
    if (at < 0) return false;
    this.#points.splice(at, 1);
    return true;
  }

  /** Crash points that were not reached. */
  get open(): readonly CrashPoint[] {
    return this.#points;
  }
}
