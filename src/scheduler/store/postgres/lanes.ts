/**
 * Transactions that only read, on connections that are used again. The driver's own `begin` is not for
 * us: when the connection closes meanwhile, its rollback writes to a socket that is not there any
 * more, where nobody can catch it, and the process ends (seen).
 */
import { type Deferred, deferred } from '../../../kit/index.ts';
import type { OneConnection, Run } from './connection.ts';

export class Lanes {
  readonly #open: () => OneConnection;
  readonly #max: number;
  readonly #all: Set<OneConnection> = new Set();
  readonly #idle: OneConnection[] = [];
  readonly #waiting: Deferred<void>[] = [];
  #isClosed = false;

  constructor(max: number, open: () => OneConnection) {
    this.#max = max;
    this.#open = open;
  }

  async within<T>(mode: string, use: (run: Run) => Promise<T>): Promise<T> {
    const lane = await this.#take();
    let isClean = false;
    try {
      await lane.begin(mode);
      const answer = await use(lane.run);
      await lane.run('commit', []);
      isClean = true;
      return answer;
    } finally {
      this.#giveBack(lane, isClean);
    }
  }

  async close(timeoutSeconds: number): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#all].map((lane) => lane.end(timeoutSeconds)));
  }

  async #take(): Promise<OneConnection> {
    for (;;) {
      // Those who waited for a lane of connections that were given up try again elsewhere.
      if (this.#isClosed) throw new Error('these connections were closed');
      const idle = this.#idle.pop();
      if (idle === undefined && this.#all.size < this.#max) {
        const lane = this.#open();
        this.#all.add(lane);
        return lane;
      }
      if (idle?.isLost() === true) this.#drop(idle);
      else if (idle !== undefined) return idle;
      else {
        const turn = deferred();
        this.#waiting.push(turn);
        await turn.promise;
      }
    }
  }

  /** What failed is rolled back with its connection: that is sure, and rare. */
  #giveBack(lane: OneConnection, isClean: boolean): void {
    if (isClean) this.#idle.push(lane);
    else this.#drop(lane);
    this.#waiting.shift()?.resolve();
  }

  #drop(lane: OneConnection): void {
    this.#all.delete(lane);
    void lane.end(0);
  }
}
