/** Reads samples as what they are: the rows with the smallest of random numbers, or those whose number is below a share. */
import type { Expression } from './expression.ts';
import { readLiteral } from './literal.ts';
import type { PlanNode } from './plan-node.ts';
import { readType } from './read-type.ts';
import type { Filter, Project, Relation, TopN } from './relation.ts';
import { BOOLEAN, DOUBLE, castTo } from './type.ts';
import { Undistributable } from './undistributable.ts';

/** Another one for each row, between 0 and 1. */
export const RANDOM_NUMBER: Expression = { kind: 'call', name: 'random', args: [], type: DOUBLE };

export function readSample(node: PlanNode, input: Relation, rows: number | null): Relation {
  const options = node.at('sample_options');
  const method = options.at('method').text();
  const isShare = options.at('is_percentage').bool();
  if (options.at('seed').integer() !== -1n)
    throw new Undistributable('it takes a sample that is repeatable');
  const own = input.output.map((type, index): Expression => ({ kind: 'column', index, type }));
  const drawn: Project = {
    ...{ kind: 'project', input, expressions: [...own, RANDOM_NUMBER], rows: input.rows },
    output: [...input.output, DOUBLE],
  };
  const { output } = drawn;
  const number: Expression = { kind: 'column', index: own.length, type: DOUBLE };
  const size = options.at('sample_size');
  let chosen: Filter | TopN;
  if (method === 'Reservoir' && !isShare) {
    const order = [{ expression: number, descending: false, nullsFirst: false }];
    const limit = size.at('value').index();
    chosen = { kind: 'topN', input: drawn, order, limit, offset: 0, output, rows };
  } else if (method === 'Bernoulli' && isShare) {
    const hundred: Expression = { kind: 'constant', sql: castTo('100', DOUBLE), type: DOUBLE };
    const percent: Expression = { kind: 'call', name: '*', args: [number, hundred], type: DOUBLE };
    const type = readType(size.at('type'));
    const right: Expression = { kind: 'constant', sql: readLiteral(size, type), type };
    const below: Expression = {
      ...{ kind: 'compare', comparison: '<', left: percent, right },
      type: BOOLEAN,
    };
    chosen = { kind: 'filter', input: drawn, conditions: [below], output, rows };
  } else throw new Undistributable('it takes a sample of whole blocks, or of an exact share');
  return { kind: 'project', input: chosen, expressions: own, output: input.output, rows };
}
