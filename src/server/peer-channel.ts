import { ShuffleChannel } from '../protocol/index.ts';
import type { PartitionChunk, PartitionRange } from '../protocol/index.ts';
import { isLoopback } from '../security/index.ts';
import type { NodeCredentials } from './credentials.ts';

/** Data of workers, wherever they are. What is shown to them depends on where that is: whoever registered may
 * have given any address. */
export class PeerChannel {
  readonly #probing: NodeCredentials['probing'];
  readonly #channels: Map<boolean, ShuffleChannel> = new Map();

  constructor({ probing }: Pick<NodeCredentials, 'probing'>) {
    this.#probing = probing;
  }

  fetch(
    address: string,
    range: PartitionRange,
    signal: AbortSignal,
  ): AsyncIterable<PartitionChunk> {
    return this.#to(address.slice(0, address.lastIndexOf(':'))).fetch(address, range, signal);
  }

  close(): void {
    for (const channel of this.#channels.values()) channel.close();
  }

  #to(host: string): ShuffleChannel {
    const isHere = isLoopback(host);
    const known = this.#channels.get(isHere);
    if (known !== undefined) return known;
    const channel = new ShuffleChannel(this.#probing(host));
    this.#channels.set(isHere, channel);
    return channel;
  }
}
