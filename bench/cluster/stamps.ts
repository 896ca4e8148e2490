/** Hears from handlers in other processes when they began. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const STAMP_TASKS: string = fileURLToPath(new URL('stamp-tasks.js', import.meta.url));

export interface Stamp {
  /** By CLOCK_MONOTONIC, as `process.hrtime.bigint()` tells it in every process. */
  readonly at: bigint;
  readonly pid: number;
}

const LONGEST_MS = 120_000;

export class Stamps {
  readonly #server: Server;
  readonly #sockets: Set<Socket> = new Set();
  readonly #arrived: Map<string, Stamp[]> = new Map();
  readonly #waiting: Map<string, (stamp: Stamp) => void> = new Map();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      // A process that is killed does not say goodbye.
      socket.on('error', () => {});
      createInterface({ input: socket })
        .on('line', (line) => this.#hear(line))
        .on('error', () => {});
    });
  }

  static async open(): Promise<Stamps> {
    const stamps = new Stamps(createServer());
    stamps.#server.listen(0, '127.0.0.1');
    await once(stamps.#server, 'listening');
    return stamps;
  }

  /** For processes that shall stamp. */
  get environment(): Readonly<Record<string, string>> {
    return { BENCH_STAMPS: `${(this.#server.address() as AddressInfo).port}` };
  }

  /** The next one with this key. Each is given out once. */
  next(key: string): Promise<Stamp> {
    const [first, ...rest] = this.#arrived.get(key) ?? [];
    if (first !== undefined) {
      this.#arrived.set(key, rest);
      return Promise.resolve(first);
    }
    return new Promise((resolve, reject) => {
      const tooLate = setTimeout(() => {
        reject(new Error(`The task ${key} did not begin within ${LONGEST_MS} ms.`));
      }, LONGEST_MS);
      this.#waiting.set(key, (stamp) => {
        clearTimeout(tooLate);
        resolve(stamp);
      });
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #hear(line: string): void {
    const [key = '', at = '0', pid = '0'] = line.split(' ');
    const stamp = { at: BigInt(at), pid: Number(pid) };
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) {
      this.#arrived.set(key, [...(this.#arrived.get(key) ?? []), stamp]);
    } else {
      this.#waiting.delete(key);
      waiting(stamp);
    }
  }
}

export function millisBetween(from: bigint, to: bigint): number {
  return Number(to - from) / 1e6;
}
