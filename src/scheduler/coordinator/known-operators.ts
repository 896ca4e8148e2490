/**
 * The custom operators and functions that workers have declared. One is remembered from its first registration on, so that
 * a query that uses it can be planned, and wait, while no worker has it.
 */
import { MillraceError, parseOperators } from '../core/index.ts';
import type { OperatorDeclaration } from '../core/index.ts';
import type { OperatorService } from '../contract/index.ts';
import type { Store, Term } from '../store/index.ts';

export class KnownOperators implements OperatorService {
  readonly #store: Pick<Store, 'changeDeclarations'>;
  readonly #term: Term;
  readonly #byName: Map<string, OperatorDeclaration>;
  /** One change at a time: each is checked against the one before. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(
    store: Pick<Store, 'changeDeclarations'>,
    term: Term,
    known: readonly OperatorDeclaration[],
  ) {
    this.#store = store;
    this.#term = term;
    this.#byName = new Map(known.map((each) => [each.name, each]));
  }

  static async load(
    store: Pick<Store, 'declarations' | 'changeDeclarations'>,
    term: Term,
  ): Promise<KnownOperators> {
    const rows = await store.declarations(term.shard, 'operator');
    const known = rows.map(({ declaration }) => JSON.parse(declaration) as unknown);
    return new KnownOperators(store, term, parseOperators(known));
  }

  get list(): readonly OperatorDeclaration[] {
    return [...this.#byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Resolves when all of them are stored. Throws `conflict` if one of them is known with another meaning. */
  declare(declarations: readonly OperatorDeclaration[]): Promise<void> {
    if (declarations.length === 0) return Promise.resolve();
    return this.#inTurn(async () => {
      for (const each of declarations) {
        const known = this.#byName.get(each.name);
        if (known !== undefined && meaningOf(known) !== meaningOf(each)) throw otherMeaning(each);
      }
      const fresh = declarations.filter(
        (each) => JSON.stringify(this.#byName.get(each.name)) !== JSON.stringify(each),
      );
      if (fresh.length === 0) return;
      const put = fresh.map((each) => ({ id: each.name, declaration: JSON.stringify(each) }));
      await this.#store.changeDeclarations(this.#term, 'operator', { put, removed: [] });
      for (const each of fresh) this.#byName.set(each.name, each);
    });
  }

  forget(name: string): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#byName.has(name)) {
        throw new MillraceError({
          code: 'not_found',
          what: `There is no operator '${name.slice(0, NAME_MAX)}'.`,
        });
      }
      await this.#store.changeDeclarations(this.#term, 'operator', { put: [], removed: [name] });
      this.#byName.delete(name);
    });
  }

  #inTurn(act: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(act);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

const NAME_MAX = 80;

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
