/**
 * A TCP proxy between any two parties, with a network that can be broken: silence (a partition; the
 * connections stay open and nobody notices), resets, refusals, slowness. A silence that heals delivers
 * what was sent meanwhile, as TCP would by sending it again.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import { Relay } from './relay.ts';
import type { Direction, Inspector, Network, Target } from './relay.ts';

export interface ProxyOptions {
  /** Where it listens; by default a free port of 127.0.0.1. */
  readonly listen?: Partial<Target>;
  /** One for each connection. */
  readonly inspect?: () => Inspector;
}

export class Proxy implements Target {
  readonly host: string;
  readonly port: number;
  #target: Target;
  readonly #inspect: (() => Inspector) | null;
  readonly #relays: Set<Relay> = new Set();
  readonly #network: Network = { silent: { requests: false, answers: false }, delayMs: 0 };
  #server: Server | null = null;
  #accepted = 0;

  private constructor(listen: Target, target: Target, inspect: (() => Inspector) | null) {
    this.host = listen.host;
    this.port = listen.port;
    this.#target = target;
    this.#inspect = inspect;
  }

  /** Ends with the test that starts it. */
  static async start(target: Target, options: ProxyOptions = {}): Promise<Proxy> {
    const { host = '127.0.0.1', port = await freePort(host) } = options.listen ?? {};
    const proxy = new Proxy({ host, port }, target, options.inspect ?? null);
    await proxy.#listen();
    onTestFinished(() => proxy.refuse());
    return proxy;
  }

  get address(): string {
    return `${this.host}:${this.port}`;
  }

  /** The same URL, but through here. */
  through(url: string): string {
    const through = new URL(url);
    through.hostname = this.host;
    through.port = `${this.port}`;
    return through.href;
  }

  /** How many connections there have been. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Silence: nothing arrives, nothing is closed. In one direction only, the other one works on. */
  drop(direction: Direction | 'both' = 'both'): void {
    if (direction !== 'answers') this.#network.silent.requests = true;
    if (direction !== 'requests') this.#network.silent.answers = true;
    for (const relay of this.#open()) relay.settle();
  }

  delay(ms: number): void {
    this.#network.delayMs = ms;
  }

  /** Resets the connections there are; new ones are welcome. */
  cut(): void {
    for (const relay of this.#open()) relay.reset();
    this.#relays.clear();
  }

  /** Resets all connections and takes no more, like a machine without the program. */
  async refuse(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    const closed = server === null ? null : once(server, 'close');
    server?.close();
    this.cut();
    await closed;
  }

  /** New connections go elsewhere, as after a fail-over; those there are stay as they are. */
  retarget(target: Target): void {
    this.#target = target;
  }

  /** All is well again. */
  async heal(): Promise<void> {
    Object.assign(this.#network.silent, { requests: false, answers: false });
    this.#network.delayMs = 0;
    for (const relay of this.#open()) relay.settle();
    if (this.#server === null) await this.#listen();
  }

  async #listen(): Promise<void> {
    // Half-closed connections stay so: the other side may still have something to say.
    const server = createServer({ allowHalfOpen: true }, (client) => {
      this.#accepted += 1;
      const inspector = this.#inspect?.() ?? null;
      this.#relays.add(new Relay(client, this.#target, this.#network, inspector));
    });
    this.#server = server;
    const listening = once(server, 'listening');
    server.listen(this.port, this.host);
    await listening;
  }

  #open(): Relay[] {
    for (const relay of this.#relays) if (relay.isClosed) this.#relays.delete(relay);
    return [...this.#relays];
  }
}

export function targetOf(url: string): Target {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
