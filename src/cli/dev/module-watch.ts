/** Reports when a module, or a file that it imports, has changed. */
import { existsSync, type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../kit/index.ts';
import { moduleSources } from './module-sources.ts';

/** An editor writes a file in several steps, and people save several files at once. */
const QUIET_MS = 150;

export interface ModuleWatchOptions {
  readonly modules: readonly string[];
  readonly clock: Clock;
  /** One call at a time; what changes meanwhile leads to another one after it. */
  readonly onChange: (changed: readonly string[]) => Promise<void>;
}

export class ModuleWatch {
  readonly #options: ModuleWatchOptions;
  readonly #watchers: Map<string, FSWatcher> = new Map();
  #sources: ReadonlyMap<string, string>;
  #cancelQuiet: () => void = () => {};
  #isBusy = false;
  #isClosed = false;

  constructor(options: ModuleWatchOptions) {
    this.#options = options;
    this.#sources = moduleSources(options.modules);
    this.#watchFolders();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelQuiet();
    for (const watcher of this.#watchers.values()) watcher.close();
  }

  /** Folders and not files: most editors put a new file in the old one's place. */
  #watchFolders(): void {
    const wanted = new Set([...this.#sources.keys()].map((file) => dirname(file)));
    for (const [folder, watcher] of this.#watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of wanted) {
      if (this.#watchers.has(folder) || !existsSync(folder)) continue;
      const watcher = watch(folder, () => this.#stir());
      // A folder that goes away takes its watch with it; the next look finds it if it comes back.
      watcher.on('error', () => this.#watchers.delete(folder));
      this.#watchers.set(folder, watcher);
    }
  }

  #stir(): void {
    this.#cancelQuiet();
    if (!this.#isClosed) {
      this.#cancelQuiet = this.#options.clock.after(QUIET_MS, () => void this.#look());
    }
  }

  async #look(): Promise<void> {
    if (this.#isBusy) return this.#stir();
    const before = this.#sources;
    this.#sources = moduleSources(this.#options.modules);
    this.#watchFolders();
    const changed = [...this.#sources].filter(([file, digest]) => before.get(file) !== digest);
    const gone = [...before.keys()].filter((file) => !this.#sources.has(file));
    const files = [...changed.map(([file]) => file), ...gone];
    if (files.length === 0) return;
    this.#isBusy = true;
    try {
      await this.#options.onChange(files);
    } finally {
      this.#isBusy = false;
    }
  }
}
