/**
 * The custom operators and functions that workers have declared. One is remembered from its first registration on, so that
 * a query that uses it can be planned, and wait, while no worker has it.
 */
import { MillraceError } from '../core/index.ts';
import type { OperatorDeclaration } from '../core/index.ts';

export class KnownOperators {
  readonly #byName = new Map<string, OperatorDeclaration>();

  get list(): readonly OperatorDeclaration[] {
    return [...this.#byName.values()];
  }

  /** Throws `conflict` if one of them is known with another meaning. */
  async declare(declarations: readonly OperatorDeclaration[]): Promise<void> {
    for (const each of declarations) {
      const known = this.#byName.get(each.name);
      if (known !== undefined && meaningOf(known) !== meaningOf(each)) throw otherMeaning(each);
    }
    for (const each of declarations) this.#byName.set(each.name, each);
  }
}

/** What plans rely on. Parameters may change: they are checked when a query is planned. */
function meaningOf({
  kind,
  input,
  output,
  distribution,
  isDeterministic,
}: OperatorDeclaration): string {
  return JSON.stringify([kind, input, output, distribution, isDeterministic]);
}

function otherMeaning({ name, kind }: OperatorDeclaration): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: `The ${kind} '${name}' is known with another input, output or distribution.`,
    why: 'Queries that were planned with the old declaration would get rows that they do not expect.',
    todo: `Give the new one another name, or forget the old one: DELETE /api/v1/operators/${name}.`,
  });
}
