/**
 * Queries that have just succeeded, from the commit that ended them: their rows are asked for next, and need not be read from
 * the store. Known are those whose last stage has a single task, or tasks that ended together.
 */
import { taskNo } from '../../scheduler/core/index.ts';
import type { Instant, JobId, JobRow, NamedBatch } from '../../scheduler/core/index.ts';
import { type Clock, LruCache } from '../../kit/index.ts';
import type { FragmentResult, QueryPlan } from '../../sql/plan/index.ts';
import { refKey } from '../../scheduler/store/index.ts';
import { firstTasks } from './query-shape.ts';

export type EndingRows = Pick<NamedBatch, 'jobInserts' | 'jobUpdates' | 'results' | 'events'>;

/** A plan, and its length as text. */
export interface MeasuredPlan {
  readonly plan: QueryPlan;
  readonly chars: number;
}

export interface EndedQuery {
  readonly job: JobRow;
  readonly plan: QueryPlan;
  readonly parts: readonly FragmentResult[];
  /** The time of the commit, and what has passed since. */
  readonly now: Instant;
}

interface Ended extends Pick<EndedQuery, 'job' | 'plan'> {
  /** Of the plan. */
  readonly chars: number;
  /** As JSON. */
  readonly results: readonly string[];
  /** The same once they were asked for. */
  parts: readonly FragmentResult[] | null;
  readonly atMs: number;
}

const QUERIES_MAX = 200;
const CHARS_MAX: number = 16 * 1024 * 1024;

export class EndedQueries {
  readonly #clock: Clock;
  readonly #keptMs: number;
  readonly #ended: LruCache<JobId, Ended> = new LruCache({
    max: QUERIES_MAX,
    weightMax: CHARS_MAX,
    weightOf: ({ chars, results }) => results.reduce((sum, { length }) => sum + length, chars),
  });

  constructor(clock: Clock, keptMs: number) {
    this.#clock = clock;
    this.#keptMs = keptMs;
  }

  /** `planOf` knows the plans of queries that were submitted here. */
  learn(rows: EndingRows, planOf: (job: JobRow) => MeasuredPlan | null): void {
    const { jobInserts, jobUpdates, results } = rows;
    for (const id of removedIn(rows)) this.#ended.delete(id);
    // Another job may have got the id.
    for (const { id } of [...jobInserts, ...jobUpdates]) this.#ended.delete(id);
    for (const job of jobUpdates) {
      const known = job.state === 'succeeded' && job.output !== null ? planOf(job) : null;
      if (known === null) continue;
      const { plan, chars } = known;
      const first = firstTasks(plan.stages).at(-1) ?? 0;
      const count = plan.stages.at(-1)?.tasks ?? 0;
      const own = results.filter(({ jobNo, run }) => jobNo === job.no && run === job.run);
      const byTask = new Map(own.map((row) => [refKey(row.jobNo, row.taskNo), row.body]));
      const tasks = Array.from({ length: count }, (_, at) => refKey(job.no, taskNo(first + at)));
      const found = tasks.flatMap((ref) => byTask.get(ref) ?? []);
      if (found.length < count) continue;
      const atMs = this.#clock.monotonicMs();
      this.#ended.set(job.id, { job, plan, chars, results: found, parts: null, atMs });
    }
  }

  /** Not for long: a finished query may be removed, and another get its id. */
  find(id: JobId): EndedQuery | null {
    const ended = this.#ended.get(id);
    if (ended === undefined) return null;
    const passedMs = this.#clock.monotonicMs() - ended.atMs;
    if (passedMs >= this.#keptMs) return null;
    const { job, plan, results } = ended;
    const parts = (ended.parts ??= results.map((text) => JSON.parse(text) as FragmentResult));
    const now = ((job.finishedAt ?? 0) + Math.floor(passedMs)) as Instant;
    return { job, plan, parts, now };
  }
}

/** Their ids may be those of other jobs soon. */
export function removedIn({ events }: EndingRows): readonly JobId[] {
  const found = events.filter(({ kind }) => kind === 'job.removed');
  return found.flatMap(({ detail }) =>
    detail === null ? [] : (JSON.parse(detail) as { readonly job: JobId }).job,
  );
}
