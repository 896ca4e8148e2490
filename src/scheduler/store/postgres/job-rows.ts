/**
 * Jobs by id, many at a time. Each id that a client chooses is looked up, and a list has a thousand of them: requests
 * that arrive while a statement is under way share the next one, so that none waits behind thousands of statements.
 */
import type { JobId, JobRow } from '../../core/index.ts';
import { type Deferred, deferred } from '../../../kit/index.ts';
import type { Run } from './connection.ts';
import * as rows from './rows.ts';

interface Asked {
  readonly shard: number;
  readonly id: JobId;
  readonly answer: Deferred<JobRow | null>;
}

/** Ids in one statement. */
const IDS_MAX = 1_000;
/** Statements at the same time: one that is slow should not hold up the others. */
const STATEMENTS_MAX = 2;

/** Written so that the planner looks up one id after the other, by the one index that has ids: without statistics it takes
 * the table for a small one and walks over all of it, for each list that is submitted. */
const ONE_BY_ONE = `unnest($2::text[]) u (id)
  cross join lateral (select * from millrace.job x where x.id = u.id and x.shard + 0 = $1::smallint offset 0) j`;
export const JOBS_BY_ID: string = `select ${rows.jobs.read('j')} from ${ONE_BY_ONE}`;
export const TAKEN_IDS: string = `select u.id from ${ONE_BY_ONE}`;

export async function takenIds(
  run: Run,
  shard: number,
  ids: readonly JobId[],
): Promise<ReadonlySet<JobId>> {
  if (ids.length === 0) return new Set();
  const found = await run(TAKEN_IDS, [shard, ...rows.ids.encode(ids)]);
  return new Set(found.map((row) => row['id'] as JobId));
}

/** Of all shards, straight from their index. */
export async function jobIds(run: Run, after: string, limit: number): Promise<readonly JobId[]> {
  const found = await run('select id from millrace.job where id > $1 order by id limit $2', [
    after,
    limit,
  ]);
  return found.map((row) => row['id'] as JobId);
}

export class JobRows {
  readonly #run: Run;
  #waiting: Asked[] = [];
  #underWay = 0;

  constructor(run: Run) {
    this.#run = run;
  }

  find(shard: number, id: JobId): Promise<JobRow | null> {
    const answer = deferred<JobRow | null>();
    this.#waiting.push({ shard, id, answer });
    // What is asked for in the same turn of the event loop shares a statement.
    queueMicrotask(() => this.#next());
    return answer.promise;
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined || this.#underWay >= STATEMENTS_MAX) return;
    const { shard } = first;
    const asked = this.#waiting.filter((each) => each.shard === shard).slice(0, IDS_MAX);
    const taken = new Set(asked);
    this.#waiting = this.#waiting.filter((each) => !taken.has(each));
    this.#underWay += 1;
    void this.#ask(shard, asked).finally(() => {
      this.#underWay -= 1;
      this.#next();
    });
  }

  async #ask(shard: number, asked: readonly Asked[]): Promise<void> {
    try {
      const ids = [...new Set(asked.map(({ id }) => id))];
      const found = await this.#run(JOBS_BY_ID, [shard, ...rows.ids.encode(ids)]);
      const byId = new Map(found.map((row) => [row['id'] as JobId, rows.jobs.decode(row)]));
      for (const { id, answer } of asked) answer.resolve(byId.get(id) ?? null);
    } catch (error) {
      for (const { answer } of asked) answer.reject(error);
    }
  }
}
