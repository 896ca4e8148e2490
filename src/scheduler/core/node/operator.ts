/**
 * Custom operators and functions for SQL queries, as workers declare them. A node advertises each of them among its
 * executors under a name of its own kind, `operator:NAME`, so that a task called NAME is never taken for it.
 */
import { isObject } from '../json.ts';
import { NAMES_MAX } from '../document/reader.ts';
import { below, refuse, refuseSize } from '../document/refuse.ts';
import { didYouMean } from '../document/spelling.ts';
import { described, nameFault } from '../document/text.ts';
import { weigh } from '../document/weigh.ts';

export const OPERATOR_PREFIX = 'operator:';

/** What a node advertises for an operator or a function of this name. */
export function operatorExecutor(name: string): string {
  return OPERATOR_PREFIX + name;
}

export function isOperatorExecutor(executor: string): boolean {
  return executor.startsWith(OPERATOR_PREFIX);
}

/** Names are part of SQL, where case does not count and nothing else needs no quotes. */
export const OPERATOR_NAME: RegExp = /^[a-z_][a-z0-9_]{0,62}$/;

export interface OperatorColumn {
  readonly name: string;
  /** As SQL writes it. */
  readonly type: string;
}

/** `column` is the name of a column of the input. */
export type ParameterType = 'string' | 'number' | 'boolean' | 'json' | 'column';

export interface OperatorParameter {
  readonly name: string;
  readonly type: ParameterType;
  readonly isRequired: boolean;
}

/** How rows must be partitioned for the operator to be correct. */
export type OperatorDistribution = 'any' | 'single' | { readonly hash: readonly string[] };

/** Everything that a planner must know of an operator, or of a scalar function. */
export interface OperatorDeclaration {
  readonly name: string;
  readonly kind: 'operator' | 'function';
  /** Columns that the input must have; of a function its arguments, in order. Null for any. */
  readonly input: readonly OperatorColumn[] | null;
  /** Of a function a single column. */
  readonly output: readonly OperatorColumn[];
  readonly distribution: OperatorDistribution;
  /** Null if any parameter is accepted. */
  readonly parameters: readonly OperatorParameter[] | null;
  /** Whether a second run over the same rows returns the same rows. */
  readonly isDeterministic: boolean;
}

const DECLARATIONS_BYTES_MAX = 1024 * 1024;
const COLUMNS_MAX = 1_000;
const FIELDS = [
  ...['name', 'kind', 'input', 'output', 'distribution', 'parameters', 'isDeterministic'],
];
const TYPES: readonly ParameterType[] = ['string', 'number', 'boolean', 'json', 'column'];

type Fields = Readonly<Record<string, unknown>>;

/** Reads declarations of unknown origin. */
export function parseOperators(value: unknown, path = ''): readonly OperatorDeclaration[] {
  const list = listAt(value, path, NAMES_MAX);
  weigh(list, path, 'The list of operators', 1, DECLARATIONS_BYTES_MAX);
  const names = new Set<string>();
  return list.map((each, at) => {
    const declaration = readDeclaration(each, below(path, at));
    if (names.has(declaration.name))
      refuse(below(path, at), `The operator '${declaration.name}' is declared twice.`);
    names.add(declaration.name);
    return declaration;
  });
}

function readDeclaration(value: unknown, path: string): OperatorDeclaration {
  const fields = objectAt(value, path);
  for (const field of Object.keys(fields))
    if (!FIELDS.includes(field))
      refuse(below(path, field), `There is no such field.${didYouMean(field, FIELDS)}`);
  const { name, kind, input, parameters, isDeterministic } = fields;
  if (typeof name !== 'string' || !OPERATOR_NAME.test(name))
    refuse(below(path, 'name'), `${described(name)} is not a valid operator name.`, NAME_TODO);
  if (kind !== 'operator' && kind !== 'function')
    refuse(below(path, 'kind'), `Must be 'operator' or 'function', not ${described(kind)}.`);
  if (typeof isDeterministic !== 'boolean')
    refuse(below(path, 'isDeterministic'), 'Must be true or false.');
  const output = readColumns(fields['output'], below(path, 'output'));
  if (output.length === 0) refuse(below(path, 'output'), 'There must be at least one column.');
  return {
    name,
    kind,
    input: input === null ? null : readColumns(input, below(path, 'input')),
    output,
    distribution: readDistribution(fields['distribution'], below(path, 'distribution')),
    parameters:
      parameters === null
        ? null
        : listAt(parameters, below(path, 'parameters'), COLUMNS_MAX).map((each, at) =>
            readParameter(each, `${below(path, 'parameters')}/${at}`),
          ),
    isDeterministic,
  };
}

export const NAME_TODO =
  'Use up to 63 lower-case letters, digits and _, and no digit at the beginning.';

function readColumns(value: unknown, path: string): readonly OperatorColumn[] {
  return listAt(value, path, COLUMNS_MAX).map((each, at) => {
    const { name, type } = objectAt(each, below(path, at));
    return {
      name: textAt(name, below(path, at)),
      type: typeAt(type, below(path, at)),
    };
  });
}

function readDistribution(value: unknown, path: string): OperatorDistribution {
  if (value === 'any' || value === 'single') return value;
  const { hash } = objectAt(value, path);
  const columns = listAt(hash, path, COLUMNS_MAX).map((each) => textAt(each, path));
  if (columns.length === 0) refuse(path, 'It names no column.');
  return { hash: columns };
}

function readParameter(value: unknown, path: string): OperatorParameter {
  const { name, type, isRequired } = objectAt(value, path);
  const known = TYPES.find((each) => each === type);
  if (known === undefined)
    refuse(
      path,
      `${described(type)} is not a type of parameters.`,
      `They are ${TYPES.join(', ')}.`,
    );
  return { name: textAt(name, path), type: known, isRequired: isRequired === true };
}

function listAt(value: unknown, path: string, max: number): readonly unknown[] {
  if (!Array.isArray(value)) return refuse(path, `Must be a list, not ${described(value)}.`);
  if (value.length > max)
    refuseSize(path, `It has ${value.length} entries; the limit is ${max}.`, 'Declare fewer.');
  return value as readonly unknown[];
}

function objectAt(value: unknown, path: string): Fields {
  if (isObject(value)) return value;
  return refuse(path, `Must be an object, not ${described(value)}.`);
}

function textAt(value: unknown, path: string): string {
  if (typeof value !== 'string') return refuse(path, `Must be text, not ${described(value)}.`);
  const fault = nameFault(value);
  return fault === null ? value : refuse(path, `The name ${fault}.`);
}

const TYPE_CHARS_MAX = 10_000;

/** Whether it is a type is for the planner to say. */
function typeAt(value: unknown, path: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= TYPE_CHARS_MAX) return value;
  return refuse(path, `${described(value)} is not a type.`);
}
