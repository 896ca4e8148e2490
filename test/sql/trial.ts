/** A query, an engine and the oracle: whether the engine's answer is right, in one word or in several. */
import { tpchQueries } from '../../bench/tpch/queries.ts';
import { readCorpus } from './corpus.ts';
import type { CorpusQuery } from './corpus.ts';
import type { Answer } from './contract-values.ts';
import { difference } from './compare.ts';
import type { Leeway, Oracle } from './oracle.ts';
import { queryPair } from './random/partitioned.ts';
import { randomQuery } from './random/queries.ts';

export const SCALE = 0.01;

export type Run = (sql: string) => Promise<Answer>;

/** The 22 queries of TPC-H, and the corpus. */
export function knownQueries(): readonly CorpusQuery[] {
  const tpch = tpchQueries(SCALE).map(({ name, sql, order, ties }): CorpusQuery => {
    const leeway: Leeway = { order, ties };
    return { name, sql, leeway, fails: null, isRefused: false, volatile: false };
  });
  return [...tpch, ...readCorpus()];
}

/** Every `step`-th, beginning with a different one for each `turn`. */
export function sample<T>(all: readonly T[], step: number, turn = 0): readonly T[] {
  return all.filter((_, at) => at % step === turn % step);
}

/** What is wrong, with the query; null when it is right. */
export async function tryKnown(
  oracle: Oracle,
  query: CorpusQuery,
  run: Run,
): Promise<string | null> {
  const { name, sql, leeway, fails, volatile } = query;
  let answer: Answer;
  try {
    answer = await run(sql);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return fails?.test(message) === true ? null : `${name}: ${message}`;
  }
  if (fails !== null) return `${name}: it should have failed`;
  if (!volatile) return report(name, sql, await oracle.judge(sql, answer, leeway));
  const own = await oracle.answer(sql);
  return own.rows.length === answer.rows.length
    ? null
    : `${name}: ${answer.rows.length} rows instead of ${own.rows.length}`;
}

export interface Outcome {
  /** DuckDB itself refuses it; nothing was tried. */
  readonly isInvalid: boolean;
  readonly wrong: string | null;
}

const INVALID: Outcome = { isInvalid: true, wrong: null };

export async function tryRandom(oracle: Oracle, seed: number, run: Run): Promise<Outcome> {
  const { sql, leeway } = randomQuery(seed);
  const own = await oracle.answer(sql).catch(() => null);
  if (own === null) return INVALID;
  const name = `random query ${seed}`;
  try {
    const wrong = difference(own, await run(sql), leeway, null);
    return { isInvalid: false, wrong: report(name, sql, wrong) };
  } catch (error) {
    return { isInvalid: false, wrong: report(name, sql, String(error)) };
  }
}

/** Both queries of the pair are asked of the same engine. */
export async function tryPair(oracle: Oracle, seed: number, run: Run): Promise<Outcome> {
  const { whole, parts, form } = queryPair(seed);
  const name = `pair ${seed} (${form})`;
  const isValid = await Promise.all([oracle.answer(whole), oracle.answer(parts)]).catch(() => null);
  if (isValid === null) return INVALID;
  try {
    const wrong = difference(await run(whole), await run(parts), {}, null);
    return { isInvalid: false, wrong: report(name, `${whole}\n${parts}`, wrong) };
  } catch (error) {
    return { isInvalid: false, wrong: report(name, `${whole}\n${parts}`, String(error)) };
  }
}

function report(name: string, sql: string, wrong: string | null): string | null {
  return wrong === null ? null : `${name}: ${wrong}\n${sql}`;
}

/** Works through them, so many at a time, and answers what was not null. */
export async function inLanes<T, R>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<R | null>,
): Promise<readonly R[]> {
  const found: R[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) {
      const result = await work(item);
      if (result !== null) found.push(result);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return found;
}
