/**
 * The functions that a query may call, by name. All others are refused, including those that a later version of
 * DuckDB adds: the test beside this file compares the lists with DuckDB's own, and fails for a function that nobody
 * has reviewed.
 *
 * Not listed are functions that read or write files, settings, logs, secrets or the catalog (`read_text`, `glob`,
 * `enable_profiling`, `current_setting`, `duckdb_settings`, ...), that run SQL from a string (`query`,
 * `json_serialize_plan`), that only keep a slot busy (`sleep_ms`), or that trust their input bytes
 * (`__internal_decompress_string`).
 */

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Operators, and functions that DuckDB's parser generates for other syntax, are called by these names too. */
const SCALAR = words(`
  !__postfix !~~ !~~* % & && * ** + - ->> / // <-> << <=> <@ >> @ @> ^ ^@ | || ~ ~~ ~~* ~~~
  abs acos acosh add age aggregate alias apply array_aggr array_aggregate array_apply array_cat array_concat
  array_contains array_cosine_distance array_cosine_similarity array_cross_product array_distance
  array_distinct array_dot_product array_extract array_filter array_grade_up array_has array_has_all
  array_has_any array_indexof array_inner_product array_intersect array_length array_negative_dot_product
  array_negative_inner_product array_position array_reduce array_resize array_reverse_sort array_select
  array_slice array_sort array_to_json array_transform array_unique array_value array_where array_zip ascii
  asin asinh atan atan2 atanh bar base64 bin bit_count bit_length bit_position bitstring can_cast_implicitly
  cardinality cast_to_type cbrt ceil ceiling century char_length character_length chr combine concat concat_ws
  constant_or_null contains cos cosh cot create_sort_key current_connection_id current_database current_date
  current_localtime current_localtimestamp current_query_id current_schema current_schemas
  current_transaction_id damerau_levenshtein date_diff date_part date_sub date_trunc datediff datepart datesub
  datetrunc day dayname dayofmonth dayofweek dayofyear decade decode degrees divide editdist3 element_at
  encode ends_with enum_code enum_first enum_last enum_range enum_range_boundary epoch epoch_ms epoch_ns
  epoch_us equi_width_bins era error even exp factorial filter finalize flatten floor format
  formatReadableDecimalSize formatReadableSize format_bytes from_base64 from_binary from_hex from_json
  from_json_strict gamma gcd gen_random_uuid generate_series get_bit get_current_time get_current_timestamp
  get_type grade_up greatest greatest_common_divisor hamming hash hex hour icu_sort_key ilike_escape
  in_search_path instr is_histogram_other_bin isfinite isinf isnan isodow isoyear jaccard jaro_similarity
  jaro_winkler_similarity json_array json_array_length json_contains json_deserialize_sql json_exists
  json_extract json_extract_path json_extract_path_text json_extract_string json_keys json_merge_patch
  json_object json_pretty json_quote json_serialize_sql json_structure json_transform json_transform_strict
  json_type json_valid json_value julian last_day lcase lcm least least_common_multiple left left_grapheme len
  length length_grapheme levenshtein lgamma like_escape list_aggr list_aggregate list_apply list_cat
  list_concat list_contains list_cosine_distance list_cosine_similarity list_distance list_distinct
  list_dot_product list_element list_extract list_filter list_grade_up list_has list_has_all list_has_any
  list_indexof list_inner_product list_intersect list_negative_dot_product list_negative_inner_product
  list_pack list_position list_reduce list_resize list_reverse_sort list_select list_slice list_sort
  list_transform list_unique list_value list_where list_zip ln log log10 log2 lower lpad ltrim make_date
  make_time make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz make_type map map_concat
  map_contains map_entries map_extract map_extract_value map_from_entries map_keys map_values md5 md5_number
  microsecond millennium millisecond minute mismatches mod month monthname multiply nanosecond nextafter
  nfc_normalize normalized_interval not_ilike_escape not_like_escape now octet_length ord parse_dirname
  parse_dirpath parse_duckdb_log_message parse_filename parse_formatted_bytes parse_path pi position pow power
  prefix printf quarter radians random range reduce regexp_escape regexp_extract regexp_extract_all
  regexp_full_match regexp_matches regexp_replace regexp_split_to_array remap_struct repeat replace
  replace_type reverse right right_grapheme round row row_to_json rpad rtrim second set_bit setseed sha1
  sha256 sign signbit sin sinh split sqrt st_asbinary st_astext st_aswkb st_aswkt st_crs st_geomfromwkb
  st_intersects_extent st_setcrs starts_with stats str_split str_split_regex strftime string_split
  string_split_regex string_to_array strip_accents strlen strpos strptime struct_concat struct_contains
  struct_extract struct_extract_at struct_has struct_indexof struct_insert struct_keys struct_pack
  struct_position struct_update struct_values substr substring substring_grapheme subtract suffix switch tan
  tanh time_bucket timetz_byte_comparable timezone timezone_hour timezone_minute to_base to_base64 to_binary
  to_centuries to_days to_decades to_hex to_hours to_json to_microseconds to_millennia to_milliseconds
  to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today transaction_timestamp
  translate trim trunc try_strptime txid_current typeof ucase unbin unhex unicode union_extract union_tag
  union_value unpivot_list upper url_decode url_encode uuid uuid_extract_timestamp uuid_extract_version uuidv4
  uuidv7 variant_extract variant_normalize variant_to_parquet_variant variant_typeof vector_type version week
  weekday weekofyear xor year yearweek
`);

const AGGREGATE = words(`
  any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null
  arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or
  bit_xor bitstring_agg bool_and bool_or corr count count_if count_star countif covar_pop covar_samp cume_dist
  dense_rank entropy favg fill first first_value fsum group_concat histogram histogram_exact kahan_sum
  kurtosis kurtosis_pop lag last last_value lead list listagg mad max max_by mean median min min_by mode
  nth_value ntile percent_rank product quantile quantile_cont quantile_disc rank rank_dense regr_avgx
  regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy reservoir_quantile
  row_number sem skewness stddev stddev_pop stddev_samp string_agg sum sum_no_overflow sumkahan var_pop
  var_samp variance
`);

/** Each is an expression over the others, as shown by `duckdb_functions()`. */
const MACRO = words(`
  ago array_append array_pop_back array_pop_front array_prepend array_push_back array_push_front array_reverse
  array_to_string array_to_string_comma_default current_catalog current_role current_user date_add
  days_in_month fdiv fmod format_pg_type format_type generate_subscripts geomean geometric_mean
  has_any_column_privilege has_column_privilege has_database_privilege has_foreign_data_wrapper_privilege
  has_function_privilege has_language_privilege has_schema_privilege has_sequence_privilege
  has_server_privilege has_table_privilege has_tablespace_privilege inet_client_addr inet_client_port
  inet_server_addr inet_server_port json json_group_array json_group_object json_group_structure
  list_any_value list_append list_approx_count_distinct list_avg list_bit_and list_bit_or list_bit_xor
  list_bool_and list_bool_or list_count list_entropy list_first list_histogram list_kurtosis list_kurtosis_pop
  list_last list_mad list_max list_median list_min list_mode list_prepend list_product list_reverse list_sem
  list_skewness list_stddev_pop list_stddev_samp list_string_agg list_sum list_var_pop list_var_samp
  map_contains_entry map_contains_value map_to_pg_oid md5_number_lower md5_number_upper nullif
  pg_collation_is_visible pg_conf_load_time pg_conversion_is_visible pg_function_is_visible pg_get_expr
  pg_has_role pg_is_other_temp_schema pg_my_temp_schema pg_opclass_is_visible pg_operator_is_visible
  pg_opfamily_is_visible pg_postmaster_start_time pg_size_pretty pg_table_is_visible pg_ts_config_is_visible
  pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible pg_typeof
  regexp_split_to_table round_even roundbankers session_user split_part user wavg weighted_avg
`);

/** Known to DuckDB's binder, without an entry in its catalog. */
const BUILT_IN = words('unnest unlist struct');

const CALLABLE: ReadonlySet<string> = new Set(
  [...SCALAR, ...AGGREGATE, ...MACRO, ...BUILT_IN].map((name) => name.toLowerCase()),
);

/** Collations by language; there are more than a hundred. */
const COLLATION = /^icu_collate_[a-z_]+$/;

/** Whether an expression may call it. */
export function mayCall(name: string): boolean {
  const lower = name.toLowerCase();
  return CALLABLE.has(lower) || COLLATION.test(lower);
}

/** What the arguments of a table function may be. */
export type TableArguments =
  /** Any expression, also over columns of preceding tables. */
  | 'expressions'
  | 'literals'
  /** The name of a table of the query, then expressions over its columns. */
  | 'table';

const TABLE_FUNCTIONS: ReadonlyMap<string, TableArguments> = new Map([
  ...words('unnest range generate_series json_each json_tree').map(
    (name) => [name, 'expressions'] as const,
  ),
  ...words(
    `repeat repeat_row test_all_types test_vector_types icu_calendar_names pg_timezone_names pragma_collations
     pragma_version duckdb_functions duckdb_keywords duckdb_optimizers duckdb_types duckdb_coordinate_systems`,
  ).map((name) => [name, 'literals'] as const),
  ...words('histogram histogram_values').map((name) => [name, 'table'] as const),
]);

/** For a function after FROM; null if a query may not call it. */
export function tableArguments(name: string): TableArguments | null {
  return TABLE_FUNCTIONS.get(name.toLowerCase()) ?? null;
}

/** Whether DuckDB has a function or a table function of this name that queries may call. */
export function isBuiltIn(name: string): boolean {
  return mayCall(name) || tableArguments(name) !== null || readsFiles(name);
}

/** Functions that read files; the error says how to name a table instead. */
const READER = /^(?:read_|parquet_|sniff_csv$|glob$|seq_scan$|arrow_scan)/i;

export function readsFiles(name: string): boolean {
  return READER.test(name);
}

/** For suggestions: names that are words. */
export const CALLABLE_NAMES: readonly string[] = [...CALLABLE, ...TABLE_FUNCTIONS.keys()].filter(
  (name) => /^[a-z]/.test(name),
);
