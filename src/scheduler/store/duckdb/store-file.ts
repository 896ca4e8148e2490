/**
 * The open file of a store. After some failures, a checkpoint on a full disk first of all, DuckDB refuses every further
 * statement until its file is opened again. So it is: what was committed is in the file and its log, and the store goes
 * on by itself when there is room.
 */
import type { MillraceError } from '../../core/index.ts';
import { isInvalidated, unavailable } from './failure.ts';
import { MEMORY, openFile, type OpenedFile } from './file.ts';
import type { Session } from './session.ts';

export interface StoreFileOptions {
  readonly path: string;
  readonly logBytes: number | undefined;
  /** Called after each opening, before anything else uses the file. */
  readonly prepare: (file: OpenedFile) => Promise<void>;
}

/** Opening a large file takes a while: callers in between get the error of the last try. */
const BETWEEN_TRIES_MS = 1_000;

export class StoreFile {
  readonly #options: StoreFileOptions;
  /** Null while it has to be opened again: a closed connection must not be touched, that would end in native code. */
  #opened: OpenedFile | null;
  /** Why the file has to be opened again. */
  #fault: MillraceError | null = null;
  #nextTryMs = 0;
  #reopening: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  static async open(options: StoreFileOptions): Promise<StoreFile> {
    return new StoreFile(options, await openPrepared(options));
  }

  private constructor(options: StoreFileOptions, opened: OpenedFile) {
    this.#options = options;
    this.#opened = opened;
  }

  /** To be used at once, after `repaired`. */
  get opened(): OpenedFile {
    if (this.#closing !== null) throw unavailable(new Error('The store is closed.'));
    if (this.#opened === null) throw this.#fault ?? unavailable(new Error('It is not open.'));
    return this.#opened;
  }

  /** Settles when the file can be used; null when it can be already. */
  get repaired(): Promise<void> | null {
    if (this.#fault === null || this.#closing !== null) return null;
    return (this.#reopening ??= this.#reopen(this.#fault).finally(() => {
      this.#reopening = null;
    }));
  }

  /** Returns the error in terms of the port. */
  failed(cause: unknown): MillraceError {
    const fault = unavailable(cause);
    // What is only in memory would be lost with its instance.
    if (isInvalidated(fault) && this.#options.path !== MEMORY) this.#fault = fault;
    return fault;
  }

  /** On a connection of its own. */
  async apart<T>(use: (session: Session) => Promise<T>): Promise<T> {
    await this.repaired;
    const session = await this.opened.connect();
    try {
      return await use(session);
    } catch (cause) {
      throw this.failed(cause);
    } finally {
      session.close();
    }
  }

  /** Waits for what is under way. */
  close(): Promise<void> {
    this.#closing ??= (this.#reopening ?? Promise.resolve())
      .catch(() => {})
      .then(() => this.#opened?.close());
    return this.#closing;
  }

  async #reopen(fault: MillraceError): Promise<void> {
    if (performance.now() < this.#nextTryMs) throw fault;
    this.#nextTryMs = performance.now() + BETWEEN_TRIES_MS;
    try {
      const given = this.#opened;
      this.#opened = null;
      // Its checkpoint fails like everything else.
      await given?.close().catch(() => {});
      this.#opened = await openPrepared(this.#options);
      this.#fault = null;
    } catch (cause) {
      this.#fault = unavailable(cause);
      throw this.#fault;
    }
  }
}

async function openPrepared({ path, logBytes, prepare }: StoreFileOptions): Promise<OpenedFile> {
  const file = await openFile(path, logBytes);
  try {
    await prepare(file);
    return file;
  } catch (cause) {
    // What went wrong first is what there is to tell.
    await file.close().catch(() => {});
    throw unavailable(cause);
  }
}
