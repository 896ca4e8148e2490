/**
 * One process's way to the shared store. Requests and answers take time, may be lost, or find the
 * store away; what was sent may be applied although the sender has crashed or given up. A write
 * whose answer is lost fails with `outcome_unknown`, whether it was applied or not.
 */
import { MillraceError } from '../../src/scheduler/core/index.ts';
import { deferred } from '../../src/kit/index.ts';
import type { Store } from '../../src/scheduler/store/index.ts';
import type { Network } from './network.ts';
import type { Life } from './process.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** How the store is doing; shared by all processes and changed by the faults. */
export interface StoreConditions {
  isAway: boolean;
  lossRate: number;
  /** How often a batch is refused for its data, though nothing is wrong with it. */
  refuseRate: number;
  usualMs: number;
  worstMs: number;
  /** Statements are given up after this long. */
  timeoutMs: number;
}

export interface StoreLink {
  readonly life: Life;
  readonly world: World;
  readonly network: Network;
  readonly random: Random;
  readonly conditions: StoreConditions;
}

export const STORE = 'store';
/** Why the store refuses a batch when the dice say so. */
export const WHIM = 'The store does not like this batch.';
const COMMITS: ReadonlySet<string> = new Set(['commit', 'append']);
const WRITES: ReadonlySet<string> = new Set([
  ...COMMITS,
  ...['campaign', 'renew', 'resign', 'prune', 'fold'],
]);

/** The store as seen through the link. */
export function storeThrough<S extends Store>(link: StoreLink, shared: S): S {
  const line = { arrivesMs: 0 };
  return new Proxy(shared, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) =>
        request(link, line, String(name), () =>
          Promise.resolve(member.apply(target, args) as unknown),
        );
    },
  });
}

/** Commits travel on one connection: a later one may be lost alone, but does not overtake. */
interface Line {
  arrivesMs: number;
}

function request<T>(link: StoreLink, line: Line, name: string, act: () => Promise<T>): Promise<T> {
  const { life, world, random, conditions } = link;
  const answer = deferred<T>();
  const isWrite = WRITES.has(name);
  let isOpen = true;
  const settle = (how: () => void): void => {
    if (isOpen) how();
    isOpen = false;
    cancelTimeout();
  };
  const giveUp = (): void => {
    settle(() => {
      world.say(life.name, `gives up on ${name}`);
      answer.reject(isWrite ? unknown(name) : away(name));
    });
  };
  const cancelTimeout = life.clock.after(conditions.timeoutMs, giveUp);
  if (!isReachable(link)) {
    // Refused at once, or nothing but silence.
    if (random.chance(0.7)) life.clock.after(1, () => settle(() => answer.reject(away(name))));
    return answer.promise;
  }
  if (random.chance(conditions.lossRate)) return answer.promise;
  const { usualMs, worstMs } = conditions;
  const isDoomed = random.chance(0.5);
  const isRefused = COMMITS.has(name) && random.chance(conditions.refuseRate);
  let delayMs = random.delayMs(usualMs, worstMs);
  if (COMMITS.has(name)) {
    line.arrivesMs = Math.max(line.arrivesMs, world.nowMs + delayMs);
    delayMs = line.arrivesMs - world.nowMs;
  }
  world.after(delayMs, () => {
    if (isRefused) return respond(link, name, giveUp, () => settle(() => answer.reject(refused())));
    if (!isReachable(link) || (life.isOver && isDoomed)) return;
    act().then(
      (value) => respond(link, name, giveUp, () => settle(() => answer.resolve(value))),
      (error: unknown) => respond(link, name, giveUp, () => settle(() => answer.reject(error))),
    );
  });
  return answer.promise;
}

function respond(link: StoreLink, name: string, giveUp: () => void, deliver: () => void): void {
  const { life, world, random, conditions } = link;
  const { usualMs, worstMs, lossRate } = conditions;
  const isLost = !isReachable(link) || random.chance(lossRate);
  if (isLost) {
    world.say(life.name, `does not hear the answer to ${name}`);
    // A reset connection is noticed, a dead one only by the timeout.
    if (random.chance(0.5)) world.after(random.between(0, usualMs), () => life.run(giveUp));
    return;
  }
  world.after(random.delayMs(usualMs, worstMs), () => life.run(deliver));
}

function isReachable({ network, life, conditions }: StoreLink): boolean {
  return !conditions.isAway && network.connects(life.name, STORE);
}

function away(name: string): MillraceError {
  return new MillraceError({ code: 'store_unavailable', what: `The store is away (${name}).` });
}

function refused(): MillraceError {
  return new MillraceError({ code: 'bad_row', what: WHIM });
}

function unknown(name: string): MillraceError {
  return new MillraceError({ code: 'outcome_unknown', what: `No answer to ${name}.` });
}
