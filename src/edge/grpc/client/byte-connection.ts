/**
 * A connection whose bytes are read into two buffers in turn, which are large once much is read. Node.js would allocate 64 KiB
 * for each read, which costs more than the bytes do. While nobody takes what has come, a buffer's worth waits here and the rest
 * with the sender.
 */
import { connect, isIP } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { type Clock, deferred } from '../../../kit/index.ts';

const SMALL_BUFFER_BYTES: number = 64 * 1_024;
const LARGE_BUFFER_BYTES: number = 2 ** 20;
/** With less room, the other buffer is filled. */
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
  readonly #buffers: [Buffer, Buffer] = [
    Buffer.allocUnsafeSlow(SMALL_BUFFER_BYTES),
    Buffer.allocUnsafeSlow(SMALL_BUFFER_BYTES),
  ];
  /** What the reader waits for. */
  #wanted = 0;
  /** The buffer that is filled, and what of it has been filled and not been taken. */
  #at: 0 | 1 = 0;
  #start = 0;
  #end = 0;
  /** What has not been taken of the other one, which came before. */
  #older: Buffer | null = null;
  /** The buffer that the reader looks at. */
  #held: 0 | 1 | null = null;
  /** Nothing is read until one of the two is free. */
  #isFull = false;
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
    return this.#older !== null || this.#start < this.#end;
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
    for (;;) {
      const taken = this.#take(this.#isClosed ? 1 : bytesMin);
      if (taken !== null) return taken;
      if (this.#fault !== null) throw this.#fault;
      if (this.#isClosed) return null;
      await this.#changed();
    }
  }

  close(): void {
    this.#socket.destroy();
  }

  async #changed(): Promise<void> {
    const { clock, stalledMs } = this.#options;
    const changed = deferred();
    this.#wake = changed.resolve;
    const cancelTimer = clock.after(stalledMs, () => {
      this.#isStalled = true;
      this.close();
    });
    await changed.promise;
    cancelTimer();
  }

  #take(bytesMin: number): Buffer | null {
    if (this.#older !== null) {
      const older = this.#older;
      this.#older = null;
      this.#held = this.#other;
      return older;
    }
    if (this.#end - this.#start < (this.#isFull ? 1 : bytesMin)) return null;
    const taken = this.#buffers[this.#at].subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#held = this.#at;
    if (this.#isFull) {
      this.#turn();
      this.#isFull = false;
      this.#socket.resume();
    }
    return taken;
  }

  get #other(): 0 | 1 {
    return this.#at === 0 ? 1 : 0;
  }

  #turn(): void {
    if (this.#start < this.#end) {
      this.#older = this.#buffers[this.#at].subarray(this.#start, this.#end);
    }
    this.#at = this.#other;
    this.#start = 0;
    this.#end = 0;
  }

  /** The buffer that is filled from now on. */
  #grow(): void {
    if (this.#wanted <= this.#buffers[this.#at].length) return;
    this.#buffers[this.#at] = Buffer.allocUnsafeSlow(LARGE_BUFFER_BYTES);
  }

  /** Returns whether to go on reading. */
  #filled(bytes: number): boolean {
    this.#end += bytes;
    if (this.#buffers[this.#at].length - this.#end < ROOM_BYTES_MIN) {
      this.#isFull = this.#older !== null || this.#held === this.#other;
      if (!this.#isFull) {
        this.#turn();
        this.#grow();
      }
    }
    this.#wake();
    return !this.#isFull;
  }

  /** Where the next bytes are put. If nothing is read now, that is into the other buffer, once it is free. */
  #next(): Buffer {
    return this.#isFull ? this.#buffers[this.#other] : this.#buffers[this.#at].subarray(this.#end);
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
