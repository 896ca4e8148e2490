/** The types of references: placeholders for values while a flow is built. What they are at run time is in
 * `placeholder.ts`. */
import type { Json } from '../../scheduler/core/index.ts';
import type { AnyJson } from '../executors/index.ts';

declare const carried: unique symbol;
declare const origin: unique symbol;
declare const missing: unique symbol;

/**
 * Stands for a value of type `T` that is there when the job runs: a part of a task's result, or of the
 * flow's input. Pass it on as it is; only the code of a task can look at the value.
 */
export interface Ref<out T, out From extends 'task' | 'input' = 'task' | 'input'> {
  readonly [carried]: T;
  readonly [origin]: From;
  /** There is nothing to await: this makes the compiler say so. */
  readonly then: (aReferenceCannotBeAwaited: never) => never;
}

/** The result of a task. Its fields are references too: `paid.receipt`, `list[0]`. */
export type TaskRef<T> = Ref<T, 'task'> & TaskRefFields<T>;

/** The flow's input. Its fields are references too. */
export type InputRef<T> = Ref<T, 'input'> & InputRefFields<T>;

/**
 * The field may be missing in the result, and then the task that asks for it would fail. Let the task
 * answer null there, or pass the whole object.
 */
export interface Missing {
  readonly [missing]: 'this field may be missing';
}

type TaskRefFields<T> = AnyJson extends T
  ? { readonly [key: string]: TaskRef<Json> }
  : [T] extends [readonly unknown[]]
    ? number extends T['length']
      ? { readonly [place: number]: TaskRef<T[number]> }
      : { readonly [Place in Extract<keyof T, `${number}`>]: TaskField<T[Place]> }
    : [T] extends [object]
      ? { readonly [Key in Exclude<keyof T, symbol>]: TaskField<T[Key]> }
      : unknown;

type TaskField<T> = undefined extends T ? TaskRef<Exclude<T, undefined> | Missing> : TaskRef<T>;

type InputRefFields<T> = AnyJson extends T
  ? { readonly [key: string]: InputRef<Json> }
  : [T] extends [readonly unknown[]]
    ? number extends T['length']
      ? { readonly [place: number]: InputRef<T[number]> }
      : { readonly [Place in Extract<keyof T, `${number}`>]: InputRef<T[Place]> }
    : [T] extends [object]
      ? { readonly [Key in Exclude<keyof T, symbol>]: InputRef<T[Key]> }
      : unknown;

/** A `T`, a reference to one, or a `T` some parts of which are references. */
export type Wired<T> = WiredRef<T> | WiredLiteral<T>;

type WiredRef<T> = AnyJson extends T ? Ref<unknown> : Ref<T>;

type WiredLiteral<T> = AnyJson extends T
  ? WiredJson
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends readonly unknown[]
      ? { readonly [Place in keyof T]: Wired<T[Place]> }
      : T extends object
        ? {
            readonly [Key in keyof T]:
              | Wired<T[Key]>
              // A field that may be left out takes a field of the input that may be.
              | (object extends Pick<T, Key> ? Ref<T[Key] | undefined> : never);
          }
        : never;

/** Any JSON, with references in it. */
export type WiredJson =
  | Ref<unknown>
  | string
  | number
  | boolean
  | null
  | readonly WiredJson[]
  | { readonly [key: string]: WiredJson | undefined };

/** The value that a flow's job answers for what its `build` returned. */
export type Settled<R> = AnyJson extends R
  ? Json
  : R extends Ref<infer T>
    ? SettledValue<T>
    : R extends string | number | boolean | null | undefined
      ? R
      : R extends void
        ? undefined
        : R extends object
          ? { -readonly [Key in keyof R]: Settled<R[Key]> }
          : never;

/** What is missing in a result is null in the answer. */
type SettledValue<T> = [Extract<T, Missing>] extends [never] ? T : Exclude<T, Missing> | null;
