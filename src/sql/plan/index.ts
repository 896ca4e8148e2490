/**
 * SQL planning as a pure function: DuckDB's optimised plan in, stages with SQL fragments out. The plan is read
 * (`logical/`), distributed (`distribute/`), written as SQL (`sql/`) and explained (`explain/`); `adapt/` decides what
 * depends on the sizes of outputs, and `physical/` is the format in which all of it is stored and sent. Nothing here
 * opens a file or runs a query.
 */
export * from './physical/plan.ts';
export type { QueryRecord } from './physical/query-record.ts';
export { readStoredPlan } from './physical/stored-plan.ts';
export * from './physical/table.ts';
export { quotedName, quotedText } from './logical/quote.ts';
export * from './physical/task.ts';
export { mayMention } from './logical/mentions.ts';
export { readLogicalPlan } from './logical/read-plan.ts';
export type { Relation } from './logical/relation.ts';
export { nullOf } from './logical/type.ts';
export type { SqlType } from './logical/type.ts';
export { Undistributable } from './logical/undistributable.ts';
export { coalescedStages, groupingTasks } from './adapt/coalesced-stages.ts';
export { decide } from './adapt/decide.ts';
export { KEYS_MAX, KEY_CHARS_MAX } from './adapt/decide-filters.ts';
export type { FilterDecision } from './adapt/decide-filters.ts';
export { bitCount, isBitText } from './adapt/key-bits.ts';
export { filterTasks } from './adapt/filter-tasks.ts';
export { joinTasks } from './adapt/decide-join.ts';
export type { JoinDecision } from './adapt/decide-join.ts';
export type { PartitionGroups } from './adapt/decide-groups.ts';
export { decoded, encoded } from './sql/codec.ts';
export { parseType } from './sql/parse-type.ts';
export { balanceScans } from './distribute/balance-scans.ts';
export { bindFault, boundStages } from './distribute/check-binding.ts';
export { checkPlan } from './distribute/check-plan.ts';
export { PlanComposer } from './distribute/compose-plan.ts';
export type { OperatorStep } from './distribute/compose-plan.ts';
export { placeholderSelect, placeholderTable } from './distribute/placeholder.ts';
export { TEXT_SHARE } from './distribute/distribute-scan.ts';
export { splitQuery } from './distribute/split-query.ts';
export type { SplitQueryInput } from './distribute/split-query.ts';
export { planQuery, smallQuery } from './distribute/plan-query.ts';
export type { PlanInput } from './distribute/plan-query.ts';
export { rowRanges, wholeFiles } from './distribute/scan-splits.ts';
export { PARTITIONS_MAX, SORT_THRESHOLD_BYTES } from './distribute/settings.ts';
export type { PlanSettings } from './distribute/settings.ts';
export { EXPLAIN_COLUMNS, EXPLAIN_KEYS, explainAnalyze, explainPlan } from './explain/explain.ts';
export { fragmentTaskId } from '../../scheduler/core/index.ts';
export { QUERY_JOB_DEFAULTS, queryJob } from './job/query-job.ts';
export type { QueryJob } from './job/query-job.ts';
export { readPlan } from './job/read-plan.ts';
