/** The connections that a pooler has to the server, and who may use which one next. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { deferred } from '../../../src/kit/index.ts';
import type { Deferred } from '../../../src/kit/index.ts';
import { errorText, message, MessageReader, startupMessage } from './postgres-wire.ts';
import type { Message } from './postgres-wire.ts';
import type { Target } from './relay.ts';

/** Who uses a connection hears what the server says. */
export interface User {
  answered(answer: Message): void;
  lost(): void;
}

export class ServerConnection {
  /** The settings that the server announced when the connection was made. */
  readonly statuses: Buffer[] = [];
  /** Settings that the pooler has made on behalf of clients. */
  readonly settings: Map<string, string> = new Map();
  /** Statements that it knows, by their names there. */
  readonly prepared: Set<string> = new Set();
  user: User | null = null;
  readonly #socket: Socket;
  readonly #reader: MessageReader = new MessageReader('server');
  #own: Deferred<void> | null = deferred();
  isLost = false;

  constructor(target: Target, startup: Iterable<readonly [string, string]>) {
    this.#socket = connect({ ...target, noDelay: true });
    this.#socket.write(startupMessage(startup));
    this.#socket.on('data', (chunk) => {
      for (const answer of this.#reader.push(chunk)) this.#take(answer);
    });
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => this.#close());
  }

  /** Resolves after the log-in, and after each statement of the pooler's own. */
  get ready(): Promise<void> {
    return this.#own?.promise ?? Promise.resolve();
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  run(statement: string): Promise<void> {
    this.#own = deferred();
    this.write(message('Q', statement));
    return this.#own.promise;
  }

  end(): void {
    this.#socket.destroy();
  }

  #take(answer: Message): void {
    const own = this.#own;
    if (own === null) {
      // What a server says to nobody (a notification, a notice) is lost: a pooler keeps no ears.
      this.user?.answered(answer);
      return;
    }
    if (answer.type === 'S') this.statuses.push(answer.raw);
    if (answer.type === 'E') own.reject(new Error(errorText(answer.body)));
    if (answer.type !== 'Z') return;
    this.#own = null;
    own.resolve();
  }

  #close(): void {
    this.isLost = true;
    this.#own?.reject(new Error('the server closed the connection'));
    this.user?.lost();
  }
}

/** All connections for one user and database. */
export class ServerPool {
  readonly #open: () => ServerConnection;
  readonly #sizeMax: number;
  readonly #waiting: {
    readonly last: ServerConnection | null;
    given: Deferred<ServerConnection>;
  }[] = [];
  #servers: ServerConnection[] = [];
  #free: ServerConnection[] = [];

  constructor(sizeMax: number, open: () => ServerConnection) {
    this.#sizeMax = sizeMax;
    this.#open = open;
  }

  /** Another one than `last` whenever there is one, so that nobody gets used to his connection. */
  async take(last: ServerConnection | null): Promise<ServerConnection> {
    this.#forgetLost();
    if (this.#servers.length < this.#sizeMax) return this.#opened();
    const at = this.#free.findIndex((server) => server !== last);
    const free = this.#free.splice(Math.max(at, 0), 1)[0];
    if (free !== undefined) return free;
    const given = deferred<ServerConnection>();
    this.#waiting.push({ last, given });
    return given.promise;
  }

  give(server: ServerConnection): void {
    const next = this.#waiting.shift();
    if (next === undefined) {
      // Taken from the front, given back at the end: all take their turns.
      this.#free.push(server);
    } else if (server.isLost) {
      this.take(next.last).then(next.given.resolve, next.given.reject);
    } else {
      next.given.resolve(server);
    }
  }

  end(): void {
    for (const server of this.#servers) server.end();
  }

  async #opened(): Promise<ServerConnection> {
    const server = this.#open();
    this.#servers.push(server);
    await server.ready;
    return server;
  }

  #forgetLost(): void {
    this.#servers = this.#servers.filter((server) => !server.isLost);
    this.#free = this.#free.filter((server) => !server.isLost);
  }
}
