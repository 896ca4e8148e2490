import type { SignalRow } from '../rows.ts';
import type { Slot } from '../task/table.ts';

/** The signals of one job, and the tasks that wait for them. Their bodies are never here. */
export class JobSignals {
  readonly #ids: Set<string> = new Set();
  /** Numbers of the untaken ones, by name, oldest first. */
  readonly #pending: Map<string, number[]> = new Map();
  readonly #listeners: Map<string, Set<Slot>> = new Map();

  /** All that were ever sent. */
  get count(): number {
    return this.#ids.size;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Returns the number of the new one. Numbers have no gaps. */
  add({ id, name, taken }: Pick<SignalRow, 'id' | 'name' | 'taken'>): number {
    const no = this.#ids.size;
    this.#ids.add(id);
    if (taken) return no;
    const pending = this.#pending.get(name);
    if (pending === undefined) this.#pending.set(name, [no]);
    else pending.push(no);
    return no;
  }

  /** The oldest one of this name, taken out; null when there is none. */
  take(name: string): number | null {
    const pending = this.#pending.get(name);
    const no = pending?.shift() ?? null;
    if (pending?.length === 0) this.#pending.delete(name);
    return no;
  }

  listen(name: string, slot: Slot): void {
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) this.#listeners.set(name, new Set([slot]));
    else listeners.add(slot);
  }

  unlisten(name: string, slot: Slot): void {
    const listeners = this.#listeners.get(name);
    listeners?.delete(slot);
    if (listeners?.size === 0) this.#listeners.delete(name);
  }

  listeners(name: string): Iterable<Slot> {
    return this.#listeners.get(name) ?? [];
  }

  /** The names that tasks wait for. */
  get awaited(): readonly string[] {
    return [...this.#listeners.keys()];
  }

  /** The names of the untaken ones. */
  get untaken(): readonly string[] {
    return [...this.#pending.keys()];
  }

  get listenerCount(): number {
    let count = 0;
    for (const slots of this.#listeners.values()) count += slots.size;
    return count;
  }
}
