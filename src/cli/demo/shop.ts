/** The world outside, as far as the demo needs one: a small web server that remembers what it was asked. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Rates } from './flow.ts';

export const RATES: Rates = { CHF: 1_060, EUR: 1_000, GBP: 1_180, USD: 920 };

/** What was really done for the order, however often it was requested. */
export interface Deeds {
  readonly charges: readonly string[];
  readonly parcels: readonly string[];
}

export interface ShopOptions {
  /** A process wants to pack. It is answered when the promise is fulfilled. */
  readonly onPack: (pid: number) => Promise<void>;
}

export class Shop {
  readonly #options: ShopOptions;
  readonly #server: Server;
  readonly #charges: string[] = [];
  readonly #parcels: string[] = [];

  private constructor(options: ShopOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => {
        // The caller is gone, or sent something invalid.
        if (!response.headersSent) response.writeHead(400);
        response.end();
      });
    });
  }

  static async open(options: ShopOptions): Promise<Shop> {
    const shop = new Shop(options);
    shop.#server.listen(0, '127.0.0.1');
    await once(shop.#server, 'listening');
    return shop;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/`;
  }

  get deeds(): Deeds {
    return { charges: [...this.#charges], parcels: [...this.#parcels] };
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.url);
    if (request.method === 'GET' && pathname === '/rates') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(RATES));
      return;
    }
    const [, order, what = ''] = /^\/orders\/([\w-]+)\/(\w+)$/.exec(pathname) ?? [];
    if (order === undefined || request.method !== 'POST') {
      response.writeHead(404).end();
      return;
    }
    const { pid } = (await json(request)) as { readonly pid: number };
    switch (what) {
      case 'charge':
        response.end(noted(this.#charges, `receipt-${order}`));
        return;
      case 'pack':
        await this.#options.onPack(pid);
        response.end();
        return;
      case 'ship':
        response.end(noted(this.#parcels, `parcel-${order}`));
        return;
      default:
        response.writeHead(404).end();
    }
  }
}

/** One more, with a number: so that a second one could be distinguished from the first. */
function noted(list: string[], what: string): string {
  const entry = `${what}-${list.length + 1}`;
  list.push(entry);
  return entry;
}
