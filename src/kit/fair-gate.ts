export interface FairGateOptions {
  /** How many are inside at once. */
  readonly max: number;
  /** Of these, how many of one caller; all of them if left out. */
  readonly perCallerMax?: number;
  /** How many may wait; any number if left out. */
  readonly waitingMax?: number;
  /** The error for callers beyond that. */
  readonly full?: () => Error;
}

interface Waiting {
  readonly go: () => void;
  readonly refuse: (why: Error) => void;
}

/** Admits a limited number at once. Callers take turns: one that asks a hundred times is served as often as one that
 * asks once, until that one is done. When too many wait, the caller with the most waiting is refused. */
export class FairGate {
  readonly #options: FairGateOptions;
  readonly #perCallerMax: number;
  readonly #insideOf = new Map<string, number>();
  /** The caller whose turn is next stands first. */
  readonly #lines = new Map<string, Waiting[]>();
  #inside = 0;
  #waiting = 0;

  constructor(options: FairGateOptions) {
    this.#options = options;
    this.#perCallerMax = options.perCallerMax ?? options.max;
  }

  get inside(): number {
    return this.#inside;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Returns how to leave again. Fails with the signal's reason, or as `full` says. `isNext` goes before all others. */
  async enter(caller: string, signal: AbortSignal, isNext = false): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#mayEnter(caller)) this.#count(caller, 1);
    else await this.#turn(caller, signal, isNext);
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#count(caller, -1);
      this.#serve();
    };
  }

  #mayEnter(caller: string): boolean {
    const { max } = this.#options;
    return this.#inside < max && (this.#insideOf.get(caller) ?? 0) < this.#perCallerMax;
  }

  #count(caller: string, by: 1 | -1): void {
    this.#inside += by;
    const own = (this.#insideOf.get(caller) ?? 0) + by;
    if (own === 0) this.#insideOf.delete(caller);
    else this.#insideOf.set(caller, own);
  }

  #turn(caller: string, signal: AbortSignal, isNext: boolean): Promise<void> {
    this.#makeRoom(caller);
    return new Promise((resolve, reject) => {
      const settle = (): void => signal.removeEventListener('abort', giveUp);
      const mine: Waiting = {
        go: () => {
          settle();
          resolve();
        },
        refuse: (why) => {
          settle();
          reject(why);
        },
      };
      const giveUp = (): void => {
        this.#leaveLine(caller, mine);
        reject(signal.reason as Error);
      };
      this.#line(caller, mine, isNext);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  #line(caller: string, mine: Waiting, isNext: boolean): void {
    this.#waiting += 1;
    const before = this.#lines.get(caller) ?? [];
    if (!isNext) {
      this.#lines.set(caller, [...before, mine]);
      return;
    }
    const others = [...this.#lines].filter(([each]) => each !== caller);
    this.#lines.clear();
    this.#lines.set(caller, [mine, ...before]);
    for (const [each, line] of others) this.#lines.set(each, line);
  }

  /** Throws if the caller itself has most of the waiting calls. */
  #makeRoom(caller: string): void {
    const { waitingMax = Infinity, full = () => new Error('Too many wait.') } = this.#options;
    if (this.#waiting < waitingMax) return;
    let [longest, most] = [caller, this.#lines.get(caller)?.length ?? 0];
    for (const [each, { length }] of this.#lines)
      if (length > most + 1) [longest, most] = [each, length];
    const last = longest === caller ? undefined : this.#lines.get(longest)?.at(-1);
    if (last === undefined) throw full();
    this.#leaveLine(longest, last);
    last.refuse(full());
  }

  #leaveLine(caller: string, mine: Waiting): void {
    const line = this.#lines.get(caller) ?? [];
    const at = line.indexOf(mine);
    if (at < 0) return;
    line.splice(at, 1);
    this.#waiting -= 1;
    if (line.length === 0) this.#lines.delete(caller);
  }

  #serve(): void {
    for (const [caller, line] of this.#lines) {
      if (!this.#mayEnter(caller)) continue;
      const [next] = line;
      if (next === undefined) continue;
      this.#leaveLine(caller, next);
      // To the end of the round.
      if (this.#lines.delete(caller)) this.#lines.set(caller, line);
      this.#count(caller, 1);
      next.go();
      return;
    }
  }
}
