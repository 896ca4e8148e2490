/**
 * What a reference is while the program runs: a proxy that answers every field with a reference to
 * that field, and refuses whatever would need the value itself. `ref.ts` has the types.
 */
import { refuse } from './fault.ts';
import { spelled } from './pointer.ts';

/** Where a reference points. */
export interface Pointed {
  /** The graph it belongs to; compared by identity. */
  readonly graph: object;
  readonly flow: string;
  /** The task whose result it is; null for the flow's input. */
  readonly task: string | null;
  readonly tokens: readonly string[];
  /** What its user can do without: nothing, a task that was skipped (`orNull`), or one that failed as well
   * (`orNullIfFailed`). */
  readonly orNull: 'never' | 'ifSkipped' | 'ifFailed';
  /** Why the task failed, instead of its result. */
  readonly isError?: true;
}

const known = new WeakMap<object, Pointed>();

/** What a value refers to; undefined when it is not a reference. Touches nothing of the value. */
export function pointedBy(value: unknown): Pointed | undefined {
  return typeof value === 'object' && value !== null ? known.get(value) : undefined;
}

export function describe({ task, tokens, isError }: Pointed): string {
  const spelt = spelled(task ?? 'input', tokens);
  return isError === true ? `the error of ${spelt}` : spelt;
}

/** Read by everything that wants the value of an object: each would be silently wrong here. */
const MISUSES: ReadonlyMap<string | symbol, string> = new Map<string | symbol, string>([
  ['then', 'It cannot be awaited.'],
  ['toJSON', 'It has no JSON form.'],
  ['toString', 'It cannot be turned into text.'],
  ['toLocaleString', 'It cannot be turned into text.'],
  ['valueOf', 'It cannot be turned into text or a number.'],
  [Symbol.toPrimitive, 'It cannot be turned into text or a number.'],
  [Symbol.iterator, 'It cannot be looped over or spread; `map` runs a task for each item.'],
  [Symbol.asyncIterator, 'It cannot be looped over; `map` runs a task for each item.'],
]);

function misuse(pointed: Pointed, fault: string): never {
  refuse(
    `Flow '${pointed.flow}'`,
    `${describe(pointed)} stands for a value that exists only when the job runs. ${fault}`,
    'Pass it to a task unchanged, and do the rest in the code of that task.',
  );
}

export function placeholder(pointed: Pointed): object {
  const fields = new Map<string, object>();
  // Consoles look through a proxy at its target: this is what they show.
  const target = { [Symbol.for('nodejs.util.inspect.custom')]: () => `Ref(${describe(pointed)})` };
  const proxy = new Proxy<object>(target, {
    get(_target, key): unknown {
      const fault = MISUSES.get(key);
      if (fault !== undefined) misuse(pointed, fault);
      if (typeof key === 'symbol') return undefined;
      const field =
        fields.get(key) ?? placeholder({ ...pointed, tokens: [...pointed.tokens, key] });
      fields.set(key, field);
      return field;
    },
    has: () => misuse(pointed, 'Its fields are not known yet.'),
    ownKeys: () => misuse(pointed, 'Its fields cannot be listed or spread.'),
    getOwnPropertyDescriptor: () => misuse(pointed, 'Its fields are not known yet.'),
    set: () => misuse(pointed, 'It cannot be changed.'),
    defineProperty: () => misuse(pointed, 'It cannot be changed.'),
    deleteProperty: () => misuse(pointed, 'It cannot be changed.'),
  });
  known.set(proxy, pointed);
  return proxy;
}
