/** Whether DuckDB would plan a statement in the same way again. */

/**
 * What asks for the time, draws a value at random, or hides SQL in a text. DuckDB writes the time into a plan as
 * a constant. A time of day with a zone is shifted by what the zone has today. Words and not calls, in comments
 * and names too: a statement that is taken for one of these only has to be planned again.
 */
const UNSTEADY = [
  'now|today|transaction_timestamp|get_current_\\w+|current_\\w+|localtime(?:stamp)?|ago|age|timetz|time\\s+with',
  'pg_conf_load_time|pg_postmaster_start_time',
  'random|setseed|uuid|uuidv4|uuidv7|gen_random_uuid|nextval|currval|txid_current|in_search_path',
  'sleep_ms|pg_sleep|write_log|stats|getvariable',
  'query|json_execute_serialized_sql',
];

const PATTERN = new RegExp(`\\b(?:${UNSTEADY.join('|')})\\b`, 'i');

/** `sql` has its parameters in it. */
export function isSteady(sql: string): boolean {
  return !PATTERN.test(sql);
}
