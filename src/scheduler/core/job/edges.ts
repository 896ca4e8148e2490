import type { Dependency, Need } from '../document/document.ts';
import type { TaskNo } from '../ids.ts';
import { taskNo } from '../ids.ts';

/** Who waits for whom, from the finished task's side: two flat arrays for a whole job. */
export class Edges {
  readonly #offsets: Uint32Array;
  /** A dependent's number, written as in a row. */
  readonly #targets: Int32Array;

  constructor(dependencies: readonly (readonly Dependency[])[]) {
    const offsets = new Uint32Array(dependencies.length + 1);
    for (const list of dependencies) {
      for (const { no } of list) offsets[no + 1] = (offsets[no + 1] as number) + 1;
    }
    for (let no = 0; no < dependencies.length; no += 1) {
      offsets[no + 1] = (offsets[no + 1] as number) + (offsets[no] as number);
    }
    const targets = new Int32Array(offsets[dependencies.length] as number);
    const filled = offsets.slice();
    for (const [dependent, list] of dependencies.entries()) {
      for (const { no, required } of list) {
        const at = filled[no] as number;
        targets[at] = encoded(dependent, required);
        filled[no] = at + 1;
      }
    }
    this.#offsets = offsets;
    this.#targets = targets;
  }

  /** Calls `visit` for each task that depends on `no`. Tasks added later have no dependents. */
  eachDependent(no: TaskNo, visit: (dependent: TaskNo, required: Need) => void): void {
    if (no + 1 >= this.#offsets.length) return;
    const end = this.#offsets[no + 1] as number;
    for (let at = this.#offsets[no] as number; at < end; at += 1) {
      const target = this.#targets[at] as number;
      visit(numberIn(target), requiredIn(target));
    }
  }
}

/** Added to the number of a dependency that may be skipped. Numbers of tasks are far below it. */
const UNLESS_SKIPPED = 2 ** 30;

function encoded(no: number, required: Need): number {
  if (required === false) return ~no;
  return required === true ? no : no + UNLESS_SKIPPED;
}

function numberIn(value: number): TaskNo {
  if (value < 0) return taskNo(~value);
  return taskNo(value >= UNLESS_SKIPPED ? value - UNLESS_SKIPPED : value);
}

function requiredIn(value: number): Need {
  if (value < 0) return false;
  return value >= UNLESS_SKIPPED ? 'unlessSkipped' : true;
}

/** Most tasks of many jobs have none: their rows share it. */
const NONE: readonly number[] = [];

/** How a dependency list is encoded in a row and decoded. */
export function encodeDependencies(list: readonly Dependency[]): readonly number[] {
  if (list.length === 0) return NONE;
  return list.map(({ no, required }) => encoded(no, required));
}

export function decodeDependencies(list: readonly number[]): Dependency[] {
  return list.map((value) => ({ no: numberIn(value), required: requiredIn(value) }));
}

/** Only whom it depends on. */
export function dependencyNumbers(list: readonly number[]): TaskNo[] {
  return list.map(numberIn);
}
