/**
 * A simulated process. Everything that reaches it from outside (timers, answers, requests) comes
 * through `run`, so it can be paused, when nothing runs and then everything comes late at once, and
 * crashed, when nothing runs ever again and its promises never settle.
 */
import type { Clock } from '../../src/kit/index.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** One incarnation, from boot to crash. */
export class Life {
  readonly name: string;
  readonly clock: Clock;
  readonly #world: World;
  readonly #makeThread: () => Life;
  readonly #threads: Life[] = [];
  readonly #lateTimers: (() => void)[] = [];
  readonly #late: (() => void)[] = [];
  #isPaused = false;
  #isBlocked = false;
  #overdue = 0;
  #isOver = false;

  constructor(name: string, world: World, rate: number, bornMs: number = world.nowMs) {
    this.name = name;
    this.#world = world;
    this.#makeThread = () => new Life(name, world, rate, bornMs);
    this.clock = {
      monotonicMs: () => (world.nowMs - bornMs) * rate,
      after: (ms, fn) => world.after(ms / rate, () => this.run(fn, this.#lateTimers)),
    };
  }

  /** Another thread of the process: paused and ended with it, and not blocked by the first one. */
  thread(): Life {
    const thread = this.#makeThread();
    this.#threads.push(thread);
    return thread;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** It has caught up with all that came while it was paused: nothing of it is as it was before. */
  get isAwake(): boolean {
    return !this.#isPaused && !this.#isBlocked && this.#overdue === 0;
  }

  /** Runs `act` now, or when the process is awake again, or never. */
  run(act: () => void, late: (() => void)[] = this.#late): void {
    if (this.#isOver) return;
    if (this.#isPaused || this.#isBlocked) late.push(act);
    else act();
  }

  pause(): void {
    this.#isPaused = true;
    for (const thread of this.#threads) thread.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#catchUp();
    for (const thread of this.#threads) thread.resume();
  }

  /** A handler keeps this thread busy; the others go on. */
  block(): void {
    this.#isBlocked = true;
  }

  unblock(): void {
    this.#isBlocked = false;
    this.#catchUp();
  }

  end(): void {
    this.#isOver = true;
    this.#lateTimers.length = 0;
    this.#late.length = 0;
    for (const thread of this.#threads) thread.end();
  }

  #catchUp(): void {
    if (this.#isPaused || this.#isBlocked) return;
    // One event each, all of this very moment; an event loop looks at its timers before it reads.
    const acts = [...this.#lateTimers.splice(0), ...this.#late.splice(0)];
    this.#overdue += acts.length;
    for (const act of acts) {
      this.#world.after(0, () => {
        this.#overdue -= 1;
        this.run(act);
      });
    }
  }
}

/** A place where a program runs again and again: one life at a time. */
export class Process {
  readonly name: string;
  readonly #world: World;
  readonly #boot: (life: Life) => void;
  /** How fast its monotonic clock runs; a percent off at most. */
  readonly #rate: number;
  #life: Life | null = null;

  constructor(name: string, world: World, random: Random, boot: (life: Life) => void) {
    this.name = name;
    this.#world = world;
    this.#boot = boot;
    this.#rate = random.between(0.99, 1.01);
    const offsetMs = Math.round(random.between(-600_000, 600_000));
    world.say(name, `clock rate ${this.#rate.toFixed(4)}, wall clock ${offsetMs} ms off`);
  }

  get life(): Life | null {
    return this.#life;
  }

  get isUp(): boolean {
    return this.#life !== null;
  }

  start(): void {
    if (this.#life !== null) return;
    this.#world.say(this.name, 'starts');
    this.#life = new Life(this.name, this.#world, this.#rate);
    this.#boot(this.#life);
  }

  crash(how = 'crashes'): void {
    if (this.#life === null) return;
    this.#world.say(this.name, how);
    this.#life.end();
    this.#life = null;
  }

  pause(): void {
    if (this.#life === null || this.#life.isPaused) return;
    this.#world.say(this.name, 'is paused');
    this.#life.pause();
  }

  resume(): void {
    if (this.#life === null || !this.#life.isPaused) return;
    this.#world.say(this.name, 'is resumed');
    this.#life.resume();
  }
}
