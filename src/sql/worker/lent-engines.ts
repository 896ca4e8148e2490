/** The engines of this node, made when the first fragment comes: most workers never run a query. */
import { EnginePool } from '../engine/index.ts';
import type { EnginePoolOptions, EngineSize, PooledEngine } from '../engine/index.ts';
import type { Engines } from './fragment-executor.ts';

export class LentEngines implements Engines {
  readonly #options: () => Promise<EnginePoolOptions>;
  #pool: Promise<EnginePool> | null = null;

  /** The options are asked for with the first engine: then there is a folder to spill to. */
  constructor(options: () => Promise<EnginePoolOptions>) {
    this.#options = options;
  }

  async acquire(size: EngineSize, signal: AbortSignal): Promise<PooledEngine> {
    if (this.#pool === null) {
      const made = this.#options().then((options) => new EnginePool(options));
      this.#pool = made;
      // The next one tries anew.
      made.catch(() => (this.#pool = null));
    }
    return (await this.#pool).acquire(size, signal);
  }

  async close(): Promise<void> {
    await (await this.#pool?.catch(() => null))?.close();
  }
}
