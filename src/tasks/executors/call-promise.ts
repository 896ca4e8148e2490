/** The promise that a member of the context returns. It records whether it has been looked at, so a missing `await`
 * can be distinguished from a wait that lost a race. */

/** Who keeps count of the promises of one handler. */
export interface CallWatch {
  /** Nobody has looked at it yet. */
  made(promise: object): void;
  /** Somebody awaits it, or has put it into a race or a list. */
  seen(promise: object): void;
  /** It has succeeded: it may be looked at later, or never. */
  fulfilled(promise: object): void;
}

export class CallPromise<T> extends Promise<T> {
  #watch: CallWatch | null = null;

  /** What `then` and `await` derive is an ordinary promise; `then` below wraps those that matter. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  static of<T>(work: Promise<T>, watch: CallWatch): CallPromise<T> {
    const promise = new CallPromise<T>((resolve, reject) => {
      work.then(
        (value) => {
          watch.fulfilled(promise);
          resolve(value);
        },
        (error: unknown) => reject(error),
      );
    });
    promise.#watch = watch;
    watch.made(promise);
    // A wait that lost a race is never awaited, and a step that fails beside another one is awaited too late: neither
    // may end the process, and with it the tasks of others.
    void Promise.prototype.then.call(promise, undefined, () => {});
    return promise;
  }

  // This records who looks at the promise, and `then` is how that is done.
  // oxlint-disable-next-line unicorn/no-thenable
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    const watch = this.#watch;
    const derived = super.then(onFulfilled, onRejected);
    if (watch === null) return derived;
    watch.seen(this);
    // `await`, `Promise.all` and `Promise.race` pass two functions and drop the result. With one it is a chain in
    // user code, and the end of that chain must be awaited instead.
    const isChain = (typeof onFulfilled === 'function') !== (typeof onRejected === 'function');
    return isChain ? CallPromise.of(derived, watch) : derived;
  }
}
