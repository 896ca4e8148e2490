/**
 * Requests and answers between processes. Either may be lost, late, out of order or, for requests,
 * there twice; sets of processes may be cut off from the rest. A caller that hears nothing learns
 * so by its own timeout and knows nothing of what became of its request.
 */
import { MillraceError } from '../../src/scheduler/core/index.ts';
import { deferred } from '../../src/kit/index.ts';
import type { Life, Process } from './process.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

export interface NetworkOptions {
  readonly lossRate: number;
  readonly duplicateRate: number;
  readonly usualMs: number;
  readonly worstMs: number;
}

export const PERFECT_NETWORK: NetworkOptions = {
  lossRate: 0,
  duplicateRate: 0,
  usualMs: 2,
  worstMs: 2,
};

/** Somebody who can be asked. `service` is null while the process does not serve. */
export interface Host<S> {
  readonly process: Process;
  readonly service: S | null;
}

export interface Call<S, T> {
  readonly from: Life;
  readonly to: Host<S>;
  readonly what: string;
  readonly timeoutMs: number;
  readonly act: (service: S) => Promise<T>;
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

export class Network {
  options: NetworkOptions;
  readonly #world: World;
  readonly #random: Random;
  /** Names that can reach each other only; everybody else is on the other side. */
  #island: ReadonlySet<string> = new Set();

  constructor(world: World, random: Random, options: NetworkOptions) {
    this.#world = world;
    this.#random = random;
    this.options = options;
  }

  cutOff(names: readonly string[]): void {
    this.#island = new Set(names);
    this.#world.say('network', names.length === 0 ? 'is whole' : `cuts off ${names.join(', ')}`);
  }

  connects(one: string, other: string): boolean {
    return this.#island.has(one) === this.#island.has(other);
  }

  call<S, T>(call: Call<S, T>): Promise<T> {
    const { from, timeoutMs } = call;
    const answer = deferred<T>();
    let isOpen = true;
    const settle = (outcome: Outcome<T>): void => {
      if (!isOpen) return;
      isOpen = false;
      cancelTimeout();
      if ('value' in outcome) answer.resolve(outcome.value);
      else answer.reject(outcome.error);
    };
    const cancelTimeout = from.clock.after(timeoutMs, () => {
      settle({ error: noAnswer(call.what) });
    });
    this.#send(call, settle);
    if (this.#random.chance(this.options.duplicateRate)) this.#send(call, settle);
    return answer.promise;
  }

  #send<S, T>(call: Call<S, T>, settle: (outcome: Outcome<T>) => void): void {
    const { from, to, what } = call;
    const receiver = to.process.name;
    if (!this.#passes(from.name, receiver)) return this.#lost(from.name, `${what} to ${receiver}`);
    this.#world.after(this.#delayMs(), () => {
      const { life } = to.process;
      if (!this.connects(from.name, receiver))
        return this.#lost(from.name, `${what} to ${receiver}`);
      if (life === null) return;
      life.run(() => this.#serve(call, (outcome) => this.#reply(call, outcome, settle)));
    });
  }

  #serve<S, T>({ to, act }: Call<S, T>, reply: (outcome: Outcome<T>) => void): void {
    const { service } = to;
    if (service === null) return reply({ error: noAnswer('the request') });
    act(service).then(
      (value) => reply({ value }),
      (error: unknown) => reply({ error }),
    );
  }

  #reply<S, T>(
    { from, to, what }: Call<S, T>,
    outcome: Outcome<T>,
    settle: (outcome: Outcome<T>) => void,
  ): void {
    const sender = to.process.name;
    if (!this.#passes(sender, from.name)) return this.#lost(sender, `answer to ${what}`);
    this.#world.after(this.#delayMs(), () => {
      if (!this.connects(sender, from.name)) return this.#lost(sender, `answer to ${what}`);
      from.run(() => settle(outcome));
    });
  }

  #passes(from: string, to: string): boolean {
    return this.connects(from, to) && !this.#random.chance(this.options.lossRate);
  }

  #delayMs(): number {
    return this.#random.delayMs(this.options.usualMs, this.options.worstMs);
  }

  #lost(from: string, what: string): void {
    this.#world.say('network', `loses ${what} from ${from}`);
  }
}

function noAnswer(what: string): MillraceError {
  return new MillraceError({ code: 'not_leader', what: `No answer to ${what}.` });
}
