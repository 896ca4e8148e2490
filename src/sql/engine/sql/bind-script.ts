/**
 * The queries of a plan's stages over relations without rows: DuckDB binds them as it will on a worker, and opens no
 * file for it.
 */
import { encoded, type Stage, quotedName } from '../../plan/index.ts';
import { partitionOf } from './fragment-script.ts';
import { exchangeQuery, scanQuery } from './relation.ts';

type BoundStage = Pick<Stage, 'fragment' | 'output'>;

/**
 * One statement for all stages, which costs less than one for each. It has the columns of every stage in order: those
 * of its fragment, then one for everything else that has to bind: the encoded forms of its columns and the partition
 * number.
 */
export function bindStatement(stages: readonly BoundStage[]): string {
  const queries = stages.map((stage, at) => `(\n${stageQuery(stage)}\n) AS s${at}`);
  return `DESCRIBE SELECT * FROM ${queries.join(',\n')}`;
}

function stageQuery({ fragment, output }: BoundStage): string {
  const relations = [
    ...fragment.scans.map((scan) => [scan.relation, scanQuery(scan, [])] as const),
    ...fragment.inputs.map((input) => [input.relation, exchangeQuery(input, [])] as const),
  ].map(([name, query]) => `${quotedName(name)} AS NOT MATERIALIZED (\n${query}\n)`);
  const before = relations.length === 0 ? '' : `WITH ${relations.join(',\n')}\n`;
  const names = fragment.columns.map((_, at) => `c${at}`);
  const alias = names.length === 0 ? 'f' : `f(${names.join(', ')})`;
  const written = fragment.columns
    .map(({ type }, at) => encoded(type, `f.c${at}`))
    // A cast to its own type binds.
    .filter((form) => !/^(CAST\()?f\.c/.test(form));
  const further = [...written, partitionOf(output) ?? '0'];
  return `${before}SELECT f.*, hash(${further.join(', ')}) AS p FROM (\n${fragment.sql}\n) AS ${alias}`;
}
