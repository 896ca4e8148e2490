/**
 * Virtual time. One event at a time; before the next one all promises that it settled have run, so
 * the order of everything follows from the seed alone.
 */
import { instant } from '../../src/scheduler/core/index.ts';
import type { Instant } from '../../src/scheduler/core/index.ts';
import { EventQueue } from './event-queue.ts';
import type { Queued } from './event-queue.ts';
import type { Trace } from './trace.ts';

/** Where the database's clock stands when a simulation begins. */
const BEGIN = Date.UTC(2030, 0, 1);

export class World {
  readonly trace: Trace;
  readonly #queue: EventQueue = new EventQueue();
  #nowMs = 0;
  #lastNo = 0;
  #events = 0;

  constructor(trace: Trace) {
    this.trace = trace;
  }

  /** True time since the beginning. No process can see it. */
  get nowMs(): number {
    return this.#nowMs;
  }

  get events(): number {
    return this.#events;
  }

  /** The clock of the one database. */
  databaseNow(): Instant {
    return instant(BEGIN + Math.floor(this.#nowMs));
  }

  after(ms: number, act: () => void): () => void {
    this.#lastNo += 1;
    const item: Queued = { atMs: this.#nowMs + Math.max(0, ms), no: this.#lastNo, act };
    this.#queue.push(item);
    return () => {
      item.act = null;
    };
  }

  say(who: string, what: string): void {
    this.trace.add(this.#nowMs, who, what);
  }

  /** Runs until `isDone`, or until the time is up; answers whether it was done. */
  async run(untilMs: number, isDone: () => boolean = () => false): Promise<boolean> {
    for (;;) {
      if (isDone()) return true;
      const next = this.#queue.peek();
      if (next === undefined || next.atMs > untilMs) {
        this.#nowMs = Math.max(this.#nowMs, untilMs);
        return isDone();
      }
      this.#queue.pop();
      if (next.act === null) continue;
      this.#nowMs = next.atMs;
      this.#events += 1;
      next.act();
      await settled();
    }
  }
}

/**
 * Nothing here waits for the outside, so once the loop has turned without an immediate left over,
 * every promise has run. The worker hands some of its work to the next turn of the loop.
 */
async function settled(): Promise<void> {
  do {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  } while (process.getActiveResourcesInfo().includes('Immediate'));
}
