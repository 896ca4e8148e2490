/**
 * Reused connections, one reader on each at a time. The driver's own pool goes on with connections that were lost,
 * see connection.ts. Nor does its `begin` work here: when the connection closes meanwhile, its rollback writes to a
 * closed socket, the error cannot be caught, and the process ends (seen).
 */
import { type Deferred, deferred } from '../../../kit/index.ts';
import type { OneConnection, Run } from './connection.ts';

export class ReadConnections {
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

  /** In a transaction. */
  within<T>(mode: string, use: (run: Run) => Promise<T>): Promise<T> {
    return this.on(async ({ begin, run }) => {
      await begin(mode);
      const answer = await use(run);
      await run('commit', []);
      return answer;
    });
  }

  async on<T>(use: (connection: OneConnection) => Promise<T>): Promise<T> {
    const connection = await this.#take();
    let isClean = false;
    try {
      const answer = await use(connection);
      isClean = true;
      return answer;
    } finally {
      this.#giveBack(connection, isClean);
    }
  }

  async close(timeoutSeconds: number): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#all].map((connection) => connection.end(timeoutSeconds)));
  }

  async #take(): Promise<OneConnection> {
    for (;;) {
      // Callers that waited for a connection of a discarded pool try again elsewhere.
      if (this.#isClosed) throw new Error('these connections were closed');
      const idle = this.#idle.pop();
      if (idle === undefined && this.#all.size < this.#max) {
        const connection = this.#open();
        this.#all.add(connection);
        return connection;
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
  #giveBack(connection: OneConnection, isClean: boolean): void {
    if (isClean) this.#idle.push(connection);
    else this.#drop(connection);
    this.#waiting.shift()?.resolve();
  }

  #drop(connection: OneConnection): void {
    this.#all.delete(connection);
    void connection.end(0);
  }
}
