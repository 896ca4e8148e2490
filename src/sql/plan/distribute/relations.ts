/** Traversing and building relations. */
import { assertNever } from '../../../scheduler/core/index.ts';
import type { Expression } from '../logical/expression.ts';
import type { Relation } from '../logical/relation.ts';
import { inputsOf } from '../logical/walk.ts';
import { column } from './expressions.ts';

/** Returns the same operator over other inputs, given in the order of `inputsOf` and with the same columns. */
export function withInputs(relation: Relation, inputs: readonly Relation[]): Relation {
  const input = (at: number): Relation => inputs[at] as Relation;
  switch (relation.kind) {
    case 'scan':
    case 'input':
    case 'values':
    case 'empty':
    case 'ref':
      return relation;
    case 'project':
    case 'filter':
    case 'aggregate':
    case 'distinct':
    case 'window':
    case 'sort':
    case 'topN':
    case 'limit':
    case 'unnest':
      return { ...relation, input: input(0) };
    case 'join':
    case 'cross':
    case 'asof':
    case 'positional':
      return { ...relation, left: input(0), right: input(1) };
    case 'set':
      return { ...relation, inputs };
    case 'with':
      return { ...relation, definition: input(0), body: input(1) };
    default:
      return assertNever(relation);
  }
}

/** Every relation of a tree, outermost first. */
export function* eachRelation(relation: Relation): Generator<Relation> {
  yield relation;
  for (const input of inputsOf(relation)) yield* eachRelation(input);
}

export function project(input: Relation, expressions: readonly Expression[]): Relation {
  return {
    kind: 'project',
    input,
    expressions,
    output: expressions.map(({ type }) => type),
    rows: input.rows,
  };
}

/** Selects columns in the given order; returns the relation itself if that changes nothing. */
export function select(input: Relation, places: readonly number[]): Relation {
  const isAll = places.length === input.output.length && places.every((place, at) => place === at);
  if (isAll) return input;
  if (input.kind === 'project')
    return project(
      input.input,
      places.map((place) => input.expressions[place] as Expression),
    );
  return project(
    input,
    places.map((place) => column(place, input.output[place] as Expression['type'])),
  );
}
