/**
 * Fuses stages. A stage whose rows stay in the task that made them and go to one other stage only is moved into that
 * stage as a CTE. Each stage saved is one wait for the slowest task less, and files that need not be written.
 */
import type { CteRef, InputRelation, Relation } from '../logical/relation.ts';
import { inputsOf } from '../logical/walk.ts';
import { Draft, type DraftStage, type StageLeaf } from './draft.ts';
import { eachRelation, withInputs } from './relations.ts';

/** Returns the same plan with as few stages as possible. */
export function fuseStages(draft: Draft): Draft {
  const readers = readersOf(draft);
  const goesInto = draft.stages.map((stage) => reader(draft, stage, readers[stage.id] ?? []));
  if (goesInto.every((into) => into === null)) return draft;
  return new Fusion(draft, goesInto).run();
}

interface Reading {
  readonly stage: DraftStage;
  readonly mode: StageLeaf['mode'];
}

/** For each stage, every read of it. */
function readersOf(draft: Draft): readonly (readonly Reading[])[] {
  const readers: Reading[][] = draft.stages.map(() => []);
  for (const stage of draft.stages) {
    for (const relation of eachRelation(stage.relation)) {
      const leaf = relation.kind === 'input' ? draft.leaves.get(relation.relation) : undefined;
      if (leaf?.kind === 'stage') readers[leaf.stage]?.push({ stage, mode: leaf.mode });
    }
  }
  return readers;
}

/** The stage that this one can be fused into; null if there is none. */
function reader(draft: Draft, stage: DraftStage, readings: readonly Reading[]): number | null {
  const [first] = readings;
  if (first === undefined || stage.output.kind !== 'whole') return null;
  if (readings.some((each) => each.stage !== first.stage || each.mode !== first.mode)) return null;
  if (first.mode === 'forward') return first.stage.id;
  // A stage that reads a table is left alone: it can do so while other stages run.
  const isAlone = stage.tasks === 1 && first.stage.tasks === 1 && !readsTable(draft, stage);
  return first.mode === 'all' && isAlone ? first.stage.id : null;
}

function readsTable(draft: Draft, { relation }: DraftStage): boolean {
  return [...eachRelation(relation)].some(
    (each) => each.kind === 'input' && draft.leaves.get(each.relation)?.kind === 'scan',
  );
}

class Fusion {
  readonly #draft: Draft;
  readonly #goesInto: readonly (number | null)[];
  readonly #made: Draft;
  /** The new id of each remaining stage. */
  readonly #ids = new Map<number, number>();
  /** What each relation has become: partial operators are identified by their relations. */
  readonly #became = new Map<Relation, Relation>();

  constructor(draft: Draft, goesInto: readonly (number | null)[]) {
    this.#draft = draft;
    this.#goesInto = goesInto;
    this.#made = new Draft(draft.partitions);
  }

  run(): Draft {
    for (const stage of this.#draft.stages) {
      if (this.#goesInto[stage.id] !== null) continue;
      const id = this.#made.stages.length;
      this.#ids.set(stage.id, id);
      const relation = this.#whole(stage);
      this.#made.stages.push({
        ...stage,
        id,
        relation,
        nonDeterministic: this.#nonDeterministic(stage),
      });
    }
    for (const [before, after] of this.#draft.partials)
      this.#made.pairPartial(this.#became.get(before) ?? before, this.#became.get(after) ?? after);
    return this.#made;
  }

  #parts({ id }: DraftStage): readonly DraftStage[] {
    return this.#draft.stages.filter((stage) => this.#goesInto[stage.id] === id);
  }

  #nonDeterministic(stage: DraftStage): string | null {
    const ofParts = this.#parts(stage).map((part) => this.#nonDeterministic(part));
    return stage.nonDeterministic ?? ofParts.find((each) => each !== null) ?? null;
  }

  /** The stage with the stages that are fused into it. */
  #whole(stage: DraftStage): Relation {
    const parts = this.#parts(stage).map((part) => ({ cte: part.id, relation: this.#whole(part) }));
    const body = this.#rebuilt(stage.relation);
    return parts.toReversed().reduce<Relation>(
      (inner, { cte, relation: definition }) => ({
        kind: 'with',
        cte,
        definition,
        body: inner,
        output: inner.output,
        rows: inner.rows,
      }),
      body,
    );
  }

  #rebuilt(relation: Relation): Relation {
    const known = this.#became.get(relation);
    if (known !== undefined) return known;
    const made = relation.kind === 'input' ? this.#leaf(relation) : this.#over(relation);
    this.#became.set(relation, made);
    return made;
  }

  #over(relation: Relation): Relation {
    const inputs = inputsOf(relation);
    const rebuilt = inputs.map((input) => this.#rebuilt(input));
    const isSame = rebuilt.every((each, at) => each === inputs[at]);
    return isSame ? relation : withInputs(relation, rebuilt);
  }

  #leaf(relation: InputRelation): InputRelation | CteRef {
    const leaf = this.#draft.leaves.get(relation.relation);
    if (leaf === undefined) return relation;
    if (leaf.kind === 'scan') {
      this.#made.leaves.set(relation.relation, leaf);
      return relation;
    }
    const { output, rows } = relation;
    if (this.#goesInto[leaf.stage] !== null) return { kind: 'ref', cte: leaf.stage, output, rows };
    const name = this.#made.addReading(this.#ids.get(leaf.stage) ?? leaf.stage, leaf.mode);
    return { ...relation, relation: name };
  }
}
