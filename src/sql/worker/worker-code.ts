/** The custom operators and functions of a worker, and what engines need to run them. */
import { MillraceError } from '../../scheduler/core/index.ts';
import type { OperatorColumn, OperatorDeclaration } from '../../scheduler/core/index.ts';
import { RESERVED_PREFIX, formOf, isBuiltIn } from '../engine/index.ts';
import type { CustomEngineCode, FunctionSignature } from '../engine/index.ts';
import { OperatorHost, declarationOf } from '../../tasks/executors/index.ts';
import type { RegisteredOperator } from '../../tasks/executors/index.ts';
import { parseType } from '../plan/index.ts';

export class WorkerCode {
  readonly #operators: () => readonly RegisteredOperator[];

  constructor(operators: () => readonly RegisteredOperator[]) {
    this.#operators = operators;
  }

  readonly operator = (name: string): OperatorDeclaration | undefined => {
    const found = this.#find(name);
    return found === undefined ? undefined : declarationOf(found.definition);
  };

  engine(): CustomEngineCode {
    const all = this.#operators();
    const modules = new Set(all.flatMap(({ module }) => module ?? []));
    const own = all.filter(({ module }) => module === null);
    const hosted = own.map(({ definition }) => definition.name);
    return {
      modules: [...modules],
      hosted,
      functions: all.map(({ definition }) => declarationOf(definition)).flatMap(signatureOf),
      host: (progress) =>
        new OperatorHost({
          definition: (name) => own.find((each) => each.definition.name === name)?.definition,
          progress,
        }),
    };
  }

  #find(name: string): RegisteredOperator | undefined {
    return this.#operators().find(({ definition }) => definition.name === name);
  }
}

function signatureOf({
  name,
  kind,
  input,
  output,
  isDeterministic,
}: OperatorDeclaration): readonly FunctionSignature[] {
  if (kind !== 'function') return [];
  const args = input ?? [];
  return [
    {
      name,
      input: args.map(({ type }) => parseType(type).sql),
      parameters: args.map((column) => column.name),
      output: parseType(output[0]?.type ?? 'VARCHAR').sql,
      isDeterministic,
    },
  ];
}

/** Before the worker registers: throws `bad_input` for a declaration that no query could use. */
export function checkOperators(operators: readonly RegisteredOperator[]): void {
  for (const { definition, from } of operators) {
    const { name, kind, input, output } = declarationOf(definition);
    if (isBuiltIn(name))
      throw bad(`${from} defines the ${kind} '${name}', but DuckDB has a function of that name.`);
    if (name.startsWith(RESERVED_PREFIX))
      throw bad(
        `${from} defines the ${kind} '${name}', but ${RESERVED_PREFIX} begins our own names.`,
      );
    for (const column of [...(input ?? []), ...output]) {
      const form = formIn(column);
      if (form === null)
        throw bad(
          `${from} defines the ${kind} '${name}' with the type ${JSON.stringify(column.type)}, which is not a type of DuckDB.`,
        );
    }
  }
}

function formIn({ type }: OperatorColumn): ReturnType<typeof formOf> | null {
  try {
    return formOf(type);
  } catch {
    return null;
  }
}

function bad(what: string, todo?: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what, todo });
}
