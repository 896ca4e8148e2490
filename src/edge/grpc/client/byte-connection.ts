/**
 * A connection whose bytes are read into two buffers in turn, which are large once much is read. Node.js would allocate 64 KiB
 * for each read, which costs more than the bytes do. While nobody takes what has come, a buffer's worth waits here and the rest
 * with the sender. A third buffer is for what TLS has decrypted already when reading stops.
 */
import { connect, isIP } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { type Clock, deferred } from '../../../kit/index.ts';

/** TLS brings up to 64 KiB and a record at once, and does not stop before all of it is here. */
const SMALL_BUFFER_BYTES: number = 128 * 1_024;
const LARGE_BUFFER_BYTES: number = 2 ** 20;
/** A record of TLS. With less room, another buffer is filled. */
const ROOM_BYTES_MIN: number = 16 * 1_024;
/** A reader need not be woken for less, where more will come. */
export const LARGE_BYTES: number = LARGE_BUFFER_BYTES - ROOM_BYTES_MIN;
/** The only protocol that is offered: whoever does not know it says so at once. */
const ALPNProtocols = ['http/1.1'];

export interface ByteConnectionOptions {
  readonly host: string;
  readonly port: number;
  /** Null for plain text. */
  readonly tls: SecureContext | null;
  readonly clock: Clock;
  /** The other side is given up when it is waited for, and nothing comes for this long. */
  readonly stalledMs: number;
}

export class ByteConnection {
  readonly #socket: Socket;
  readonly #options: ByteConnectionOptions;
  readonly #buffers: readonly { bytes: Buffer }[] = Array.from({ length: 3 }, () => ({
    bytes: Buffer.allocUnsafeSlow(SMALL_BUFFER_BYTES),
  }));
  /** What the reader waits for. */
  #wanted = 0;
  /** The buffer that is filled, and what of it has been filled and not been taken. */
  #at = 0;
  #start = 0;
  #end = 0;
  /** What has not been taken of others, which came before. */
  readonly #older: { readonly at: number; readonly bytes: Buffer }[] = [];
  /** The buffer that the reader looks at. */
  #held: number | null = null;
  /** Nothing more is read until a buffer is free. What comes nevertheless has one for itself. */
  #isPaused = false;
  #isReady = false;
  #fault: Error | null = null;
  #isClosed = false;
  #isStalled = false;
  #wake = (): void => {};

  constructor(given: ByteConnectionOptions) {
    this.#options = given;
    const { host, port, tls } = given;
    const options = {
      ...{ host, port, noDelay: true },
      onread: {
        buffer: () => this.#next(),
        callback: (bytes: number) => this.#filled(bytes),
      },
    };
    const onReady = (): void => {
      this.#isReady = true;
      this.#wake();
    };
    this.#socket =
      tls === null
        ? connect(options, onReady)
        : connectTls({ ...options, ...named(host), secureContext: tls, ALPNProtocols }, onReady);
    this.#socket.on('error', (error) => (this.#fault ??= error));
    this.#socket.on('end', () => this.#over());
    this.#socket.on('close', () => this.#over());
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isStalled(): boolean {
    return this.#isStalled;
  }

  /** Something that nobody has asked for. */
  get hasUnread(): boolean {
    return this.#older.length > 0 || this.#start < this.#end;
  }

  /** Resolves when something may be sent: not before it is known who is on the other side. */
  async ready(): Promise<void> {
    while (!this.#isReady) {
      if (this.#isClosed) throw this.#fault ?? new Error('It was closed.');
      await this.#changed();
    }
  }

  send(text: string): void {
    this.#socket.write(text, 'latin1');
  }

  /**
   * At least so many bytes, or as many as fit or still come; valid until the next call. Null at the end. Rejects if the
   * connection broke.
   */
  async read(bytesMin: number): Promise<Buffer | null> {
    this.#held = null;
    this.#wanted = bytesMin;
    if (this.#isPaused && this.#free() !== undefined) {
      this.#isPaused = false;
      this.#socket.resume();
    }
    for (;;) {
      const taken = this.#take(this.#isClosed ? 1 : bytesMin);
      if (taken !== null) return taken;
      if (this.#fault !== null) throw this.#fault;
      if (this.#isClosed) return null;
      await this.#changed();
    }
  }

  /** The other side takes too long. */
  giveUp(): void {
    this.#isStalled = true;
    this.close();
  }

  close(): void {
    this.#socket.destroy();
  }

  async #changed(): Promise<void> {
    const { clock, stalledMs } = this.#options;
    const changed = deferred();
    this.#wake = changed.resolve;
    const cancelTimer = clock.after(stalledMs, () => this.giveUp());
    await changed.promise;
    cancelTimer();
  }

  #take(bytesMin: number): Buffer | null {
    const older = this.#older.shift();
    if (older !== undefined) {
      this.#held = older.at;
      return older.bytes;
    }
    if (this.#end - this.#start < bytesMin) return null;
    this.#held = this.#at;
    return this.#rest();
  }

  #rest(): Buffer {
    const rest = this.#filling.bytes.subarray(this.#start, this.#end);
    this.#start = this.#end;
    return rest;
  }

  get #filling(): { bytes: Buffer } {
    return this.#buffers[this.#at] as { bytes: Buffer };
  }

  #free(): number | undefined {
    const taken = [this.#at, this.#held, ...this.#older.map(({ at }) => at)];
    return [0, 1, 2].find((at) => !taken.includes(at));
  }

  /** Returns whether to go on reading. */
  #filled(bytes: number): boolean {
    this.#end += bytes;
    if (this.#filling.bytes.length - this.#end < ROOM_BYTES_MIN) this.#turn();
    this.#wake();
    return !this.#isPaused;
  }

  /** There is a free one: nothing more is read when the last one is begun, and what comes nevertheless does not fill it. */
  #turn(): void {
    if (this.#start < this.#end) this.#older.push({ at: this.#at, bytes: this.#rest() });
    this.#at = this.#free() as number;
    this.#start = 0;
    this.#end = 0;
    this.#isPaused = this.#free() === undefined;
    if (this.#isPaused || this.#wanted <= this.#filling.bytes.length) return;
    this.#filling.bytes = Buffer.allocUnsafeSlow(LARGE_BUFFER_BYTES);
  }

  /** Where the next bytes are put. */
  #next(): Buffer {
    return this.#filling.bytes.subarray(this.#end);
  }

  #over(): void {
    this.#isClosed = true;
    this.#wake();
  }
}

/** For a server with several certificates. An address has none of its own. */
function named(host: string): { readonly servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {};
}
