import type { Dependency } from '../document/document.ts';
import type { TaskNo } from '../ids.ts';
import { taskNo } from '../ids.ts';

/** Who waits for whom, from the finished task's side: two flat arrays for a whole job. */
export class Edges {
  readonly #offsets: Uint32Array;
  /** A dependent's number; its bitwise complement when the dependency is optional. */
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
        targets[at] = required ? dependent : ~dependent;
        filled[no] = at + 1;
      }
    }
    this.#offsets = offsets;
    this.#targets = targets;
  }

  /** Calls `visit` for each task that depends on `no`. Tasks added later have no dependents. */
  eachDependent(no: TaskNo, visit: (dependent: TaskNo, required: boolean) => void): void {
    if (no + 1 >= this.#offsets.length) return;
    const end = this.#offsets[no + 1] as number;
    for (let at = this.#offsets[no] as number; at < end; at += 1) {
      const target = this.#targets[at] as number;
      if (target >= 0) visit(taskNo(target), true);
      else visit(taskNo(~target), false);
    }
  }
}

/** How a dependency list is written in a row, and read back. */
export function encodeDependencies(list: readonly Dependency[]): number[] {
  return list.map(({ no, required }) => (required ? no : ~no));
}

export function decodeDependencies(list: readonly number[]): Dependency[] {
  return list.map((value) =>
    value >= 0 ? { no: taskNo(value), required: true } : { no: taskNo(~value), required: false },
  );
}
