/**
 * The locked instances of a child process. The lock of an instance cannot be changed, so each set of files has its
 * own instance. The most recently used ones are kept open, and one unlocked instance is opened ahead of time, since
 * opening takes 10 ms and locking less than one.
 */
import type { DuckDBInstance } from '@duckdb/node-api';
import type { InstanceSettings } from '../messages.ts';
import type { CustomCode } from './custom-code.ts';
import { registerCode } from './functions.ts';
import { lock, openUnlocked } from './instance.ts';
import { Sessions } from './sessions.ts';

export interface InstanceRequest {
  /** Equal keys mean equal files and the same preparation. */
  readonly key: string;
  readonly files: readonly string[];
  /** Equal keys also mean that no file has changed, so that the footers need not be read again. */
  readonly isPinned?: boolean;
  readonly hasOneThread?: boolean;
  /** Called once, after it is locked. */
  readonly prepare?: (instance: DuckDBInstance) => Promise<void>;
}

export interface PooledInstance {
  readonly instance: DuckDBInstance;
  readonly sessions: Sessions;
  /** Must be called once; the instance stays open while anybody uses it. */
  readonly release: () => void;
}

interface Opened {
  readonly instance: DuckDBInstance;
  readonly sessions: Sessions;
}

interface CachedInstance {
  readonly opened: Promise<Opened>;
  users: number;
}

/** The queries of TPC-H read 18 sets of files: with fewer instances than that, each round of them opens all of them anew. */
const KEPT_MAX = 24;
/** An instance starts its threads at once, and takes 2.6 MiB of memory. */
const THREADS_MAX = 64;

export class Instances {
  readonly #settings: InstanceSettings;
  readonly #custom: CustomCode | null;
  readonly #instancesMax: number;
  /** In order of use, most recently used last. */
  readonly #instances = new Map<string, CachedInstance>();
  #spare: Promise<DuckDBInstance> | null = null;

  /** With `custom` every instance has the functions of users. */
  constructor(settings: InstanceSettings, custom: CustomCode | null = null) {
    this.#settings = settings;
    this.#custom = custom;
    this.#instancesMax = Math.min(
      KEPT_MAX,
      Math.max(2, Math.floor(THREADS_MAX / settings.threads)),
    );
  }

  async take(wish: InstanceRequest): Promise<PooledInstance> {
    const cached = this.#instances.get(wish.key) ?? { opened: this.#open(wish), users: 0 };
    cached.users += 1;
    this.#instances.delete(wish.key);
    this.#instances.set(wish.key, cached);
    const release = (): void => {
      cached.users -= 1;
      this.#trim();
      // After the calls that are waiting.
      setImmediate(() => void this.spare().catch(() => {}));
    };
    try {
      return { ...(await cached.opened), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Opens an instance ahead of time, unless there is one. Fails if DuckDB cannot be opened. */
  async spare(): Promise<void> {
    if (this.#spare !== null) return;
    const opening = this.#opened();
    this.#spare = opening;
    try {
      await opening;
    } catch (error) {
      // The next caller tries again, and gets the error.
      if (this.#spare === opening) this.#spare = null;
      throw error;
    }
  }

  async #opened(): Promise<DuckDBInstance> {
    const instance = await openUnlocked(this.#settings);
    if (this.#custom !== null) await registerCode(instance, this.#custom);
    return instance;
  }

  /** Not part of one call: others wait for it too. */
  async #open({ key, files, prepare, ...locks }: InstanceRequest): Promise<Opened> {
    const spare = this.#spare;
    this.#spare = null;
    let instance: DuckDBInstance | null = null;
    try {
      instance = await (spare ?? this.#opened());
      await lock(instance, files, locks);
      await prepare?.(instance);
      return { instance, sessions: new Sessions(instance) };
    } catch (error) {
      this.#instances.delete(key);
      instance?.closeSync();
      throw error;
    }
  }

  #trim(): void {
    for (const [key, { opened, users }] of this.#instances) {
      if (this.#instances.size <= this.#instancesMax) return;
      if (users > 0) continue;
      this.#instances.delete(key);
      void opened.then(close).catch(() => {});
    }
  }
}

function close({ instance, sessions }: Opened): void {
  sessions.close();
  instance.closeSync();
}
