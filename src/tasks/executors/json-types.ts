/** The type of a value after a round trip through JSON. */
import type { Json } from '../../scheduler/core/index.ts';

/**
 * What JSON makes of a `T`: a date is text, a field that is `undefined` is gone, a method too.
 * Whatever is JSON already stays as it is. A map or a set is refused when it is returned.
 */
export type Jsonified<T> =
  IsUnknown<T> extends true
    ? Json
    : T extends Json
      ? T
      : T extends undefined | void
        ? null
        : T extends { toJSON(...rest: never): infer Said }
          ? Jsonified<Said>
          : T extends NotJson
            ? never
            : T extends Collection
              ? never
              : T extends readonly unknown[]
                ? { [Place in keyof T]: Jsonified<T[Place]> }
                : T extends object
                  ? {
                      [
                        Key in keyof T as Key extends symbol
                          ? never
                          : [Exclude<T[Key], undefined>] extends [NotJson]
                            ? never
                            : Key
                      ]: JsonifiedField<T[Key]>;
                    }
                  : never;

/** What comes back of a `T` that was recorded. Whoever works with `any` goes on doing so. */
export type Recorded<T> = 0 extends 1 & T ? T : Jsonified<T>;

/** `undefined` stays in the type of a field, where it means that the field may be missing. */
type JsonifiedField<T> =
  IsUnknown<T> extends true ? Json : Jsonified<Exclude<T, undefined>> | Extract<T, undefined>;

/** Assignable to every type that takes any JSON, whether its lists are mutable or not. */
export type AnyJson = null | boolean | number | string | AnyJson[] | { [key: string]: AnyJson };

type NotJson = symbol | bigint | ((...rest: never) => unknown);
type Collection = ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>;
/** True for `any` as well. */
type IsUnknown<T> = unknown extends T ? true : false;
