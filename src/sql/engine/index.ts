/**
 * DuckDB, always in a child process: planning on the leader, fragments on workers, and rows for readers of results.
 * Limits on memory, spilling and paths are set here. What the SQL means is decided in `sql/plan`.
 */
export type * from './engine.ts';
export { startFragmentEngine } from './parent/fragment-engine.ts';
export { startPlanningEngine } from './parent/planning-engine.ts';
export {
  EnginePool,
  type EnginePoolOptions,
  type EngineSize,
  type PooledEngine,
} from './parent/pool.ts';
export { inlinePart } from './parent/inline-part.ts';
export { startRowEngine } from './parent/row-engine.ts';
export { partitionOf } from './sql/fragment-script.ts';
export { RESERVED_PREFIX, formOf, rawName } from './sql/custom-script.ts';
export { isBuiltIn } from './sql/functions.ts';
export { callText, withQuotedParameters } from './sql/operator-calls.ts';
export type { FoundCall } from './sql/operator-calls.ts';
export { tokensOf } from './sql/tokenizer.ts';
export { commandOf, type Command } from './sql/command.ts';
export { sqlTime } from './sql/sql-time.ts';
export { statementOf } from './sql/statement.ts';
export { isCacheable } from './sql/volatility.ts';
