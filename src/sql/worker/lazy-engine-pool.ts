/** The engine pool of this node, created with the first fragment: most workers never run a query. */
import { EnginePool } from '../engine/index.ts';
import type { EnginePoolOptions, EngineSize, PooledEngine } from '../engine/index.ts';
import type { Engines } from './fragment-executor.ts';

export class LazyEnginePool implements Engines {
  readonly #options: () => Promise<EnginePoolOptions>;
  #pool: Promise<EnginePool> | null = null;

  /** The options are requested with the first engine, because only then is there a folder to spill to. */
  constructor(options: () => Promise<EnginePoolOptions>) {
    this.#options = options;
  }

  async acquire(size: EngineSize, signal: AbortSignal): Promise<PooledEngine> {
    if (this.#pool === null) {
      const made = this.#options().then((options) => new EnginePool(options));
      this.#pool = made;
      // The next call tries again.
      made.catch(() => (this.#pool = null));
    }
    return (await this.#pool).acquire(size, signal);
  }

  async close(): Promise<void> {
    await (await this.#pool?.catch(() => null))?.close();
  }
}
