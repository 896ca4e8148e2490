/**
 * The locked instances of a child process. The lock of an instance cannot be changed, so files that none of them opens
 * need another instance: it also opens the files of the last one, so that queries over the same tables soon share one,
 * with its footers and views. The most recently used ones are kept open, and one unlocked instance is opened ahead of
 * time, since opening takes 10 ms and locking less than one.
 */
import type { DuckDBInstance } from '@duckdb/node-api';
import type { InstanceSettings } from '../messages.ts';
import type { CustomCode } from './custom-code.ts';
import { registerCode } from './functions.ts';
import { lock, openUnlocked } from './instance.ts';
import { Sessions } from './sessions.ts';

export interface InstanceRequest {
  /** Requests of a kind have the same locks and the same preparation, and share instances. */
  readonly kind: string;
  readonly files: readonly string[];
  /** What a name means for all who share an instance: the content of a file whose footer is kept, the text of a view. */
  readonly meanings?: ReadonlyMap<string, string>;
  readonly isPinned?: boolean;
  readonly hasOneThread?: boolean;
  /** Called once, after it is locked. */
  readonly prepare?: (instance: DuckDBInstance) => Promise<void>;
}

export interface PooledInstance {
  readonly instance: DuckDBInstance;
  readonly sessions: Sessions;
  /** Acts for the first one who asks for it in this instance, and again only if that has failed; the others wait for it. */
  readonly once: (name: string, act: () => Promise<void>) => Promise<void>;
  /** Must be called once; the instance stays open while anybody uses it. */
  readonly release: () => void;
}

interface Opened {
  readonly instance: DuckDBInstance;
  readonly sessions: Sessions;
}

interface CachedInstance {
  readonly kind: string;
  readonly files: ReadonlySet<string>;
  readonly meanings: Map<string, string>;
  readonly acts: Map<string, Promise<void>>;
  readonly opened: Promise<Opened>;
  users: number;
}

/** They differ in kind, or in what names mean. */
const KEPT_MAX = 24;
/** That an instance opens for several requests, and names that have a meaning there: each may have a footer in memory. */
const FILES_MAX = 128;
const NAMES_MAX = 256;
/** An instance starts its threads at once, and takes 2.6 MiB of memory. */
const THREADS_MAX = 64;

export class Instances {
  readonly #settings: InstanceSettings;
  readonly #custom: CustomCode | null;
  readonly #instancesMax: number;
  /** In order of use, most recently used last. */
  readonly #instances = new Set<CachedInstance>();
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
    const latest = [...this.#instances].toReversed().filter(({ kind }) => kind === wish.kind);
    const cached = latest.find((each) => isFit(each, wish)) ?? this.#with(wish, latest[0]);
    for (const [name, meaning] of wish.meanings ?? []) cached.meanings.set(name, meaning);
    cached.users += 1;
    this.#instances.delete(cached);
    this.#instances.add(cached);
    const release = (): void => {
      cached.users -= 1;
      // After the answer of this call, and after the calls that are waiting.
      setImmediate(() => {
        this.#trim();
        void this.spare().catch(() => {});
      });
    };
    try {
      const once: PooledInstance['once'] = (name, act) => onceIn(cached.acts, name, act);
      return { ...(await cached.opened), once, release };
    } catch (error) {
      this.#instances.delete(cached);
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

  /** One that also opens the files of another, unless these are too many. */
  #with(wish: InstanceRequest, other: CachedInstance | undefined): CachedInstance {
    const both = new Set([...wish.files, ...(other?.files ?? [])]);
    const files = both.size > FILES_MAX ? new Set(wish.files) : both;
    const opened = this.#open({ ...wish, files: [...files] });
    return { kind: wish.kind, files, meanings: new Map(), acts: new Map(), opened, users: 0 };
  }

  /** Not part of one call: others wait for it too. */
  async #open({ files, prepare, ...locks }: InstanceRequest): Promise<Opened> {
    const spare = this.#spare;
    this.#spare = null;
    let instance: DuckDBInstance | null = null;
    try {
      instance = await (spare ?? this.#opened());
      await lock(instance, files, locks);
      await prepare?.(instance);
      return { instance, sessions: new Sessions(instance) };
    } catch (error) {
      instance?.closeSync();
      throw error;
    }
  }

  #trim(): void {
    for (const cached of this.#instances) {
      if (this.#instances.size <= this.#instancesMax) return;
      const { opened, users } = cached;
      if (users > 0) continue;
      this.#instances.delete(cached);
      void opened.then(close).catch(() => {});
    }
  }
}

function isFit({ files, meanings }: CachedInstance, wish: InstanceRequest): boolean {
  const added = [...(wish.meanings ?? [])].filter(
    ([name, meaning]) => meanings.get(name) !== meaning,
  );
  if (added.some(([name]) => meanings.has(name))) return false;
  if (meanings.size > 0 && meanings.size + added.length > NAMES_MAX) return false;
  return wish.files.every((path) => files.has(path));
}

function onceIn(
  acts: Map<string, Promise<void>>,
  name: string,
  act: () => Promise<void>,
): Promise<void> {
  const done = acts.get(name);
  if (done !== undefined) return done;
  const doing = act();
  acts.set(name, doing);
  doing.catch(() => acts.delete(name));
  return doing;
}

function close({ instance, sessions }: Opened): void {
  sessions.close();
  instance.closeSync();
}
