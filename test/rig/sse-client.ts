/** A client of server-sent events that reads at a given rate. */
import { get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { EventShape } from '../../src/scheduler/contract/index.ts';

export interface Block {
  readonly id?: number;
  readonly event?: string;
  readonly data?: EventShape;
  readonly comment?: string;
  readonly retry?: number;
}

export class SseClient {
  readonly response: IncomingMessage;
  #text = '';
  #isOver = false;

  static async connect(url: string, headers: Record<string, string> = {}): Promise<SseClient> {
    const request = get(url, { headers, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    // A connection that is cut is one of the ways in which a stream ends.
    request.on('error', () => {});
    return new SseClient(response);
  }

  private constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8').on('error', () => {});
    response.on('close', () => {
      this.#isOver = true;
    });
  }

  get status(): number {
    return this.response.statusCode ?? 0;
  }

  /** The next block, or null at the end of the stream. */
  async next(): Promise<Block | null> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return parsed(block);
      }
      const piece = this.response.read() as string | null;
      if (piece !== null) this.#text += piece;
      else if (this.#isOver) return null;
      else await Promise.race([once(this.response, 'readable'), once(this.response, 'close')]);
    }
  }

  /** Reads so many events, and leaves out the blocks between them. */
  async events(count: number): Promise<Block[]> {
    const events: Block[] = [];
    while (events.length < count) {
      const block = await this.next();
      if (block === null) throw new Error(`the stream ended after ${events.length} events`);
      if (block.data !== undefined) events.push(block);
    }
    return events;
  }

  /** Reads what is left, to the end. */
  async rest(): Promise<Block[]> {
    const blocks: Block[] = [];
    for (let block = await this.next(); block !== null; block = await this.next()) {
      blocks.push(block);
    }
    return blocks;
  }

  hangUp(): void {
    this.response.destroy();
  }
}

function parsed(block: string): Block {
  const fields = block.split('\n').map((line) => {
    const [name = '', ...rest] = line.split(': ');
    const value = rest.join(': ');
    if (name === '' || name === ':') return ['comment', value];
    if (name === 'data') return ['data', JSON.parse(value) as unknown];
    return [name, name === 'event' ? value : Number.parseInt(value, 10)];
  });
  return Object.fromEntries(fields) as Block;
}
