/** A task for each item of a list, as children of the task at hand. */
import { ID_LENGTH_MAX, MillraceError, isId, isTerminal } from '../../scheduler/core/index.ts';
import type { Json } from '../../scheduler/core/index.ts';
import { ChildrenError, jsonText } from '../../tasks/executors/index.ts';
import type { FailedChild, MapOptions, Mappable } from '../../tasks/executors/index.ts';
import type { ChildOutcome, ReadyAssignment } from '../../scheduler/contract/index.ts';
import { checkName } from './steps.ts';
import { FIRST_OF_ALL } from './suspension.ts';
import type { Suspension } from './suspension.ts';
import { mapKey } from './wait-names.ts';

export interface ChildrenOwner {
  readonly assignment: ReadyAssignment;
  called(what: unknown, executors: readonly string[]): void;
}

export class Children {
  readonly #owner: ChildrenOwner;
  readonly #assignment: ReadyAssignment;
  readonly #suspension: Suspension;
  readonly #known: ReadonlyMap<string, ChildOutcome>;

  constructor(owner: ChildrenOwner, suspension: Suspension) {
    const { assignment } = owner;
    this.#owner = owner;
    this.#assignment = assignment;
    this.#suspension = suspension;
    this.#known = new Map(assignment.children.map((child) => [child.id, child]));
  }

  async map<I, O>(
    name: string,
    what: Mappable<I, O>,
    items: readonly I[],
    options: MapOptions,
  ): Promise<O[]> {
    checkName('map', name);
    if (typeof what?.toTask !== 'function') throw notMappable(name);
    if (!Array.isArray(items)) throw notAList(name);
    const limit = checkedLimit(name, options.concurrency);
    const ids = Array.from(items, (_, index) => `${this.#assignment.taskId}.${name}.${index}`);
    checkIds(name, ids);
    const ended = ids.map((id) => this.#known.get(id)).filter(hasEnded);
    if (ended.length === ids.length) {
      // They go first, and alone: nothing else can have ended before.
      await this.#suspension.over(FIRST_OF_ALL, 'event');
      return this.#suspension.during(() => gathered(name, what, ended));
    }
    return this.#suspend(name, what, items, ids, limit);
  }

  async #suspend<I>(
    name: string,
    what: Mappable<I, unknown>,
    items: readonly I[],
    ids: readonly string[],
    limit: number | null,
  ): Promise<never> {
    const concurrency =
      limit === null ? {} : { concurrency: { key: mapKey(this.#assignment, name), limit } };
    const tasks = await this.#suspension.during(() =>
      ids.map((id, index) => {
        const item = items[index] as I;
        return { id, document: { ...what.toTask(item), ...concurrency, id } };
      }),
    );
    let bytes = 0;
    for (const { id, document } of tasks) {
      const text = jsonText(document);
      if (!text.isJson) throw badTask(id, text.fault);
      bytes += text.text.length;
    }
    const [first] = tasks;
    const { executor } = (first?.document ?? {}) as { readonly executor?: unknown };
    this.#owner.called(what, typeof executor === 'string' ? [executor] : []);
    return this.#suspension.children(tasks, bytes);
  }
}

function hasEnded(child: ChildOutcome | undefined): child is ChildOutcome {
  return child !== undefined && isTerminal(child.state);
}

async function gathered<O>(
  name: string,
  what: Mappable<never, O>,
  children: readonly ChildOutcome[],
): Promise<O[]> {
  const failed = children.flatMap(({ id, state, error }, index): FailedChild[] =>
    state === 'succeeded' ? [] : [{ taskId: id, index, state, error }],
  );
  if (failed.length > 0) throw new ChildrenError(name, children.length, failed);
  const results: O[] = [];
  for (const { result } of children) {
    results.push(await what.readResult(JSON.parse(result ?? 'null') as Json));
  }
  return results;
}

function checkedLimit(name: string, limit: number | undefined): number | null {
  if (limit === undefined) return null;
  if (Number.isSafeInteger(limit) && limit > 0) return limit;
  throw new MillraceError({
    code: 'bad_input',
    what: `The map ${name} has an invalid concurrency: '${String(limit)}'.`,
    todo: 'Use a whole number of 1 or more, or omit it for no limit.',
  });
}

function checkIds(name: string, ids: readonly string[]): void {
  const longest = ids.at(-1);
  if (longest === undefined || isId(longest)) return;
  throw new MillraceError({
    code: 'bad_input',
    what: `The map ${name} would add a task with the invalid id ${longest.slice(0, ID_LENGTH_MAX)}.`,
    why: `An id has 1 to ${ID_LENGTH_MAX} letters, digits and . _ : @ + = -`,
    todo: 'Use a shorter or simpler name for the map, or nest fewer maps.',
  });
}

function notMappable(name: string): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: `The map ${name} has no task to run.`,
    todo: 'Pass a task as the second argument.',
  });
}

function notAList(name: string): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: `The items of the map ${name} are not a list.`,
    todo: 'Pass an array.',
  });
}

function badTask(id: string, fault: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what: `The document of task ${id} ${fault}.` });
}
