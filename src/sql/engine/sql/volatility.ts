/** Whether DuckDB would plan a statement in the same way again, and answer it so. */

/**
 * What asks for the time, or hides SQL in a text that may. Words and not calls, in comments and names too: a
 * statement that is taken for one of these only costs a little more.
 */
const TIMED = [
  'now|today|transaction_timestamp|get_current_\\w+|current_\\w+|localtime(?:stamp)?|ago|age',
  'pg_conf_load_time|pg_postmaster_start_time',
  'query|json_execute_serialized_sql',
];

/**
 * What draws a value at random, or depends on more than the statement says. DuckDB writes the time into a plan as
 * a constant. A time of day with a zone is shifted by what the zone has today.
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

/** `sql` has its parameters in it. */
export function isCacheable(sql: string): boolean {
  return !OF_UNSTEADY.test(sql);
}

/** Whether it may ask DuckDB what time it is. */
export function readsClock(sql: string): boolean {
  return OF_TIMED.test(sql);
}
