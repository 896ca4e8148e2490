/** gRPC connections by address: opened when they are needed, thrown away when they fail. */
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { ChannelCredentials, ClientOptions } from '@grpc/grpc-js';
import { channelOptions } from '../limits.ts';
import type { KeepAlive } from '../limits.ts';

/** PEM texts. */
export interface ClientTls {
  /** The authority that signs the servers' certificates; by default those that Node.js trusts. */
  readonly ca?: string | Buffer;
  /** What the client shows of itself. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

export interface ConnectionOptions {
  /** Null for plain text. */
  readonly tls: ClientTls | null;
  /** The credential for HOST:PORT, asked for each call: addresses differ in what they may see. */
  readonly token?: (address: string) => string | null;
  readonly keepAlive?: KeepAlive;
  /** How much may be under way to here, on one connection and in one stream; for those that carry much. */
  readonly windowBytes?: number;
}

export class Connections {
  readonly #options: ConnectionOptions;
  readonly #credentials: ChannelCredentials;
  readonly #clientOptions: ClientOptions;
  readonly #clients: Map<string, Client> = new Map();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#credentials = channelCredentials(options.tls);
    this.#clientOptions = {
      ...channelOptions('client', options.keepAlive),
      // A new attempt is a new connection: a failed one must not delay it.
      'grpc.use_local_subchannel_pool': 1,
      // The caller decides about retries.
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
      // Nodes talk to nodes: a web proxy is not meant for them.
      'grpc.enable_http_proxy': 0,
      ...(options.windowBytes === undefined
        ? {}
        : { 'grpc-node.flow_control_window': options.windowBytes }),
    };
  }

  to(address: string): Client {
    let client = this.#clients.get(address);
    if (client === undefined) {
      client = new Client(address, this.#credentials, this.#clientOptions);
      this.#clients.set(address, client);
    }
    return client;
  }

  /** Calls that still run on it go on; the next one gets a new connection. */
  drop(address: string, client: Client): void {
    if (this.#clients.get(address) === client) this.#clients.delete(address);
    client.close();
  }

  metadata(address: string): Metadata {
    const metadata = new Metadata();
    const token = this.#options.token?.(address) ?? null;
    if (token !== null) metadata.set('authorization', `Bearer ${token}`);
    return metadata;
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
    this.#clients.clear();
  }
}

function channelCredentials(tls: ClientTls | null): ChannelCredentials {
  if (tls === null) return credentials.createInsecure();
  const bytes = (text: string | Buffer | undefined): Buffer | null =>
    text === undefined ? null : Buffer.from(text);
  return credentials.createSsl(bytes(tls.ca), bytes(tls.key), bytes(tls.cert));
}
