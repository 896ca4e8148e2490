import { expect, test } from 'vitest';
import { type FunctionParts, type OperatorParts, defineFunction, defineOperator } from './index.ts';

const run: OperatorParts['run'] = async function* (batches) {
  yield* batches;
};

test('the definition of an operator is validated', () => {
  const output = { score: 'DOUBLE' };
  const operator = defineOperator({ name: 'rank', output, run });
  output.score = 'changed';
  expect(operator).toEqual({
    kind: 'millrace.operator',
    name: 'rank',
    input: null,
    output: { score: 'DOUBLE' },
    distribution: 'any',
    params: null,
    deterministic: true,
    run,
  });
  const hashed = defineOperator({ name: 'rank', output, distribution: { hash: ['a'] }, run });
  expect(hashed.distribution).toEqual({ hash: ['a'] });
});

test.each<[Record<string, unknown>, string]>([
  [{ name: '' }, 'Operator: "" is not a valid name.'],
  [{ name: 'Rank' }, 'Operator: "Rank" is not a valid name.'],
  [{ name: 'a"b' }, 'is not a valid name.'],
  [{ output: undefined }, "Operator 'rank': 'output' must be an object, not undefined."],
  [{ output: ['DOUBLE'] }, "Operator 'rank': 'output' must be an object, not a list."],
  [{ output: {} }, "Operator 'rank': 'output' has no column."],
  [{ output: { a: 7 } }, "Operator 'rank': the type of column 'a' is the number 7."],
  [{ output: { a: ' ' } }, "Operator 'rank': the type of column 'a' is"],
  [{ output: { a: 'INTEGER', A: 'INTEGER' } }, "'output' has two columns 'a'"],
  [{ input: [] }, "Operator 'rank': 'input' must be an object, not a list."],
  [{ distribution: 'hash' }, `Operator 'rank': 'distribution' cannot be "hash".`],
  [{ distribution: { hash: [] } }, "Operator 'rank': 'distribution' cannot be an object."],
  [{ distribution: { hash: [1] } }, "Operator 'rank': 'distribution' cannot be an object."],
  [{ params: { k: 'int' } }, `Operator 'rank': the parameter 'k' has the type "int".`],
  [{ deterministic: 'no' }, `Operator 'rank': 'deterministic' must be true or false, not "no".`],
  [{ run: 1 }, "Operator 'rank': 'run' must be a function, not the number 1."],
  [{ outputs: {} }, "Operator 'rank': unknown option 'outputs'. Did you mean 'output'?"],
])('an operator that is not valid is refused: %#', (change, message) => {
  const parts = { name: 'rank', output: { score: 'DOUBLE' }, run, ...change } as OperatorParts;
  expect(() => defineOperator(parts)).toThrow(message);
});

test.each<[Record<string, unknown>, string]>([
  [{ name: 'a-b' }, 'Function: "a-b" is not a valid name.'],
  [{ input: {} }, "Function 'km': 'input' has no column."],
  [{ output: {} }, "Function 'km': 'output' must be an SQL type, not an object."],
  [{ run: null }, "Function 'km': 'run' must be a function, not null."],
])('a function that is not valid is refused: %#', (change, message) => {
  const parts = { name: 'km', input: { a: 'DOUBLE' }, output: 'DOUBLE', run: () => [], ...change };
  expect(() => defineFunction(parts as unknown as FunctionParts)).toThrow(message);
});
