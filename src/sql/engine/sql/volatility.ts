/** Whether DuckDB would make the same plan of a statement again, so that it can be cached. */

/**
 * Functions that read the clock, or run SQL from a string that may. Matched as words, also in comments and names: a
 * false match only costs a little time.
 */
const TIMED = [
  'now|today|transaction_timestamp|get_current_\\w+|current_\\w+|localtime(?:stamp)?|ago|age',
  'pg_conf_load_time|pg_postmaster_start_time',
  'query|json_execute_serialized_sql',
];

/**
 * Functions that are random, or depend on more than the statement. DuckDB writes the time into a plan as a constant.
 * A time of day with a zone depends on the zone's current offset.
 */
const UNSTEADY = [
  ...TIMED,
  'timetz|time\\s+with',
  'random|setseed|uuid|uuidv4|uuidv7|gen_random_uuid|nextval|currval|txid_current|in_search_path',
  'sleep_ms|pg_sleep|write_log|stats|getvariable',
];

const wordsOf = (words: readonly string[]): RegExp =>
  new RegExp(`\\b(?:${words.join('|')})\\b`, 'i');

const OF_TIMED = wordsOf(TIMED);
const OF_UNSTEADY = wordsOf(UNSTEADY);

/** Whether the plan can be cached. `sql` has its parameters inlined. */
export function isCacheable(sql: string): boolean {
  return !OF_UNSTEADY.test(sql);
}

/** Whether it may read the clock. */
export function readsClock(sql: string): boolean {
  return OF_TIMED.test(sql);
}
