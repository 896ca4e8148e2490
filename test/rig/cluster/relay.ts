/** One connection through a proxy: bytes both ways, as the state of the network lets them. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { pauseMs } from './deadline.ts';

export type Direction = 'requests' | 'answers';

/** What the network does, shared by all connections of a proxy. */
export interface Network {
  readonly silent: Record<Direction, boolean>;
  delayMs: number;
}

/** Looks at the bytes and may keep answers back. */
export interface Inspector {
  request(chunk: Buffer): void;
  answer(chunk: Buffer): 'forward' | 'swallow' | 'reset';
}

export interface Target {
  readonly host: string;
  readonly port: number;
}

export class Relay {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #network: Network;
  readonly #inspector: Inspector | null;
  readonly #ordered: Record<Direction, Promise<void>> = {
    requests: Promise.resolve(),
    answers: Promise.resolve(),
  };
  #isOver = false;

  constructor(client: Socket, target: Target, network: Network, inspector: Inspector | null) {
    this.#client = client;
    this.#server = connect({ ...target, noDelay: true });
    this.#network = network;
    this.#inspector = inspector;
    client.setNoDelay(true);
    this.#carry('requests', client, this.#server);
    this.#carry('answers', this.#server, client);
    this.settle();
  }

  /** Ends both connections as a machine does that knows nothing of them. */
  reset(): void {
    this.#isOver = true;
    for (const socket of [this.#client, this.#server]) socket.resetAndDestroy();
  }

  /** Called when the network has changed. What was held back goes on its way, in order. */
  settle(): void {
    const { silent } = this.#network;
    if (silent.requests) this.#client.pause();
    else this.#client.resume();
    if (silent.answers) this.#server.pause();
    else this.#server.resume();
  }

  #carry(direction: Direction, from: Socket, to: Socket): void {
    from.on('data', (chunk: Buffer) => {
      const verdict = this.#inspect(direction, chunk);
      if (verdict === 'reset') this.reset();
      else if (verdict === 'forward') this.#inTurn(direction, () => void to.write(chunk));
    });
    from.on('end', () => this.#inTurn(direction, () => void to.end()));
    // A reset is passed on as one; in silence nobody hears of it.
    from.on('error', () => {
      if (!this.#isOver && !this.#isSilent(direction)) this.reset();
    });
  }

  #inspect(direction: Direction, chunk: Buffer): ReturnType<Inspector['answer']> {
    if (direction === 'answers') return this.#inspector?.answer(chunk) ?? 'forward';
    this.#inspector?.request(chunk);
    return 'forward';
  }

  #isSilent(direction: Direction): boolean {
    return this.#network.silent[direction];
  }

  #inTurn(direction: Direction, act: () => void): void {
    const { delayMs } = this.#network;
    const arrived = delayMs > 0 ? pauseMs(delayMs) : Promise.resolve();
    this.#ordered[direction] = this.#ordered[direction]
      .then(() => arrived)
      .then(() => {
        if (!this.#isOver) act();
      });
  }

  get isClosed(): boolean {
    return this.#client.destroyed && this.#server.destroyed;
  }
}
