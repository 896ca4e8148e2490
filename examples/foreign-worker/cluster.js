/** The calls of the protocol, made at whoever leads. Everything here follows from `proto/` and docs/protocol.md. */
import { setTimeout as sleep } from 'node:timers/promises';
import grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const FILES = ['control_plane', 'heartbeat', 'shuffle', 'worker', 'types'];

/** The messages and services of `proto/`. Numbers of 64 bits are numbers: none of them is that large in practice. */
export function loadProtocol(folder) {
  const definition = loadSync(
    FILES.map((name) => `millrace/v1/${name}.proto`),
    { includeDirs: [folder], keepCase: true, longs: Number, enums: String, defaults: true },
  );
  const { v1 } = grpc.loadPackageDefinition(definition).millrace;
  return { v1, ErrorDetail: definition['millrace.v1.ErrorDetail'] };
}

/** A call that failed, with what the leader says about it. */
export class CallError extends Error {
  constructor(failure, detail) {
    super(detail === null ? failure.message : `${detail.what} ${detail.todo}`.trim());
    /** `not_leader`, `unknown_session`, `superseded`, ...; empty if nobody answered. */
    this.code = detail?.code ?? '';
    this.leader = detail?.leader?.grpc ?? '';
    this.isGone =
      failure.code === grpc.status.UNAVAILABLE || failure.code === grpc.status.DEADLINE_EXCEEDED;
  }
}

export class Cluster {
  #protocol;
  #addresses;
  #token;
  #clients = new Map();
  /** The address that is asked next. */
  #at;

  constructor(protocol, addresses, token) {
    this.#protocol = protocol;
    this.#addresses = addresses;
    this.#token = token;
    this.#at = addresses[0];
  }

  /** One call at one address. */
  call(address, service, method, request, deadlineMs = 10_000) {
    const client = this.#client(address, service);
    return new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + deadlineMs };
      client[method](request, this.metadata(), options, (failure, answer) => {
        if (failure === null) resolve(answer);
        else reject(this.#errorOf(failure));
      });
    });
  }

  /** The messages of a stream, as they come. */
  async *stream(address, service, method, request) {
    const call = this.#client(address, service)[method](request, this.metadata());
    try {
      yield* call;
    } catch (failure) {
      throw this.#errorOf(failure);
    } finally {
      call.cancel();
    }
  }

  /**
   * A call at the leader, which is looked for until somebody answers or `signal` aborts. Every call of the protocol may
   * be repeated. Throws what the leader refuses.
   */
  async ask(service, method, request, { deadlineMs = 10_000, signal } = {}) {
    for (;;) {
      signal?.throwIfAborted();
      const address = this.#at;
      try {
        return await this.call(address, service, method, request, deadlineMs);
      } catch (error) {
        if (error.leader !== '' && error.leader !== address) {
          this.#at = error.leader;
          continue;
        }
        if (!error.isGone) throw error;
        const next = this.#addresses.indexOf(address) + 1;
        this.#at = this.#addresses[next % this.#addresses.length];
        await sleep(200);
      }
    }
  }

  metadata() {
    const metadata = new grpc.Metadata();
    if (this.#token !== '') metadata.set('authorization', `Bearer ${this.#token}`);
    return metadata;
  }

  close() {
    for (const client of this.#clients.values()) client.close();
  }

  #client(address, service) {
    const name = `${address} ${service}`;
    const Service = this.#protocol.v1[service];
    const known = this.#clients.get(name);
    const client = known ?? new Service(address, grpc.credentials.createInsecure());
    this.#clients.set(name, client);
    return client;
  }

  /** The whole error is in a trailer, as a message. */
  #errorOf(failure) {
    const [bytes] = failure.metadata?.get('millrace-error-bin') ?? [];
    if (bytes === undefined) return new CallError(failure, null);
    return new CallError(failure, this.#protocol.ErrorDetail.deserialize(bytes));
  }
}
