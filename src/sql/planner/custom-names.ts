/** Which custom operators and functions a statement may use. */
import type { OperatorColumn, OperatorDeclaration } from '../../scheduler/core/index.ts';
import { isBuiltIn, rawName, tokensOf } from '../engine/index.ts';
import type { FunctionSignature } from '../engine/index.ts';
import { parseType } from '../plan/index.ts';
import type { QueryPlan, Stage } from '../plan/index.ts';

/** All words and quoted names of a text, in lower case. */
export function wordsIn(sql: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const { kind, from, to } of tokensOf(sql)) {
    const text = sql.slice(from, to);
    if (kind === 'word') words.add(text.toLowerCase());
    else if (text.startsWith('"')) words.add(text.slice(1, -1).replaceAll('""', '"').toLowerCase());
  }
  return words;
}

export interface CustomNames {
  readonly operators: ReadonlyMap<string, OperatorDeclaration>;
  readonly functions: readonly FunctionSignature[];
}

/** Those that the text mentions. A name that DuckDB has itself means what it means there. */
export function customNamesIn(sql: string, declared: readonly OperatorDeclaration[]): CustomNames {
  if (declared.length === 0) return { operators: new Map(), functions: [] };
  const words = wordsIn(sql);
  const used = declared.filter(({ name }) => isMentioned(words, name)).map(withOwnTypes);
  const operators = used.filter(({ kind }) => kind === 'operator');
  return {
    operators: new Map(operators.map((each) => [each.name, each])),
    functions: used.filter(({ kind }) => kind === 'function').map(signatureOf),
  };
}

function isMentioned(words: ReadonlySet<string>, name: string): boolean {
  return (words.has(name) || words.has(rawName(name))) && !isBuiltIn(name);
}

/** With types as DuckDB writes them. Throws `Undistributable` for a type that a plan cannot have. */
export function withOwnTypes(declaration: OperatorDeclaration): OperatorDeclaration {
  const own = ({ name, type }: OperatorColumn): OperatorColumn => {
    return { name, type: parseType(type).sql };
  };
  return {
    ...declaration,
    input: declaration.input?.map(own) ?? null,
    output: declaration.output.map(own),
  };
}

function signatureOf({
  name,
  input,
  output,
  isDeterministic,
}: OperatorDeclaration): FunctionSignature {
  const [value] = output;
  return {
    name,
    input: (input ?? []).map(({ type }) => type),
    parameters: (input ?? []).map((column) => column.name),
    output: value?.type ?? 'VARCHAR',
    isDeterministic,
  };
}

/** The plan with the custom functions that each stage needs. */
export function withFunctions<Plan extends Pick<QueryPlan, 'stages'>>(
  plan: Plan,
  functions: readonly FunctionSignature[],
): Plan {
  if (functions.length === 0) return plan;
  return { ...plan, stages: plan.stages.map((stage) => requiring(stage, functions)) };
}

function requiring(stage: Stage, functions: readonly FunctionSignature[]): Stage {
  const { fragment, output } = stage;
  const keys = output.kind === 'hash' || output.kind === 'range' ? [output.by].flat() : [];
  const words = wordsIn([fragment.sql, fragment.custom?.input ?? '', ...keys].join('\n'));
  const used = functions.filter(({ name }) => isMentioned(words, name));
  const changing = used.find(({ isDeterministic }) => !isDeterministic);
  const reason = changing === undefined ? null : `function ${changing.name} is not deterministic`;
  return {
    ...stage,
    nonDeterministic: stage.nonDeterministic ?? reason,
    requires: [...new Set([...stage.requires, ...used.map(({ name }) => name)])],
  };
}
