/** One client of the pooler: logs in here, and borrows a server connection for each transaction. */
import type { Socket } from 'node:net';
import type { ServerConnection, ServerPool, User } from './pooler-server.ts';
import {
  CANCEL_REQUEST,
  fatal,
  int32,
  message,
  MessageReader,
  startupParameters,
  textsOf,
  VERSION_3,
} from './postgres-wire.ts';
import type { Message } from './postgres-wire.ts';
import { StatementNames } from './pooler-statements.ts';

export interface ClientRules {
  /** Start-up parameters that are neither known nor refused. */
  readonly ignoredParameters: readonly string[];
  readonly preparedStatements: 'forgotten' | 'kept';
  readonly poolOf: (user: string, database: string) => ServerPool;
}

/** The only settings that a pooler keeps for a client: it makes them anew on each connection. */
const KEPT = ['client_encoding', 'datestyle', 'timezone', 'standard_conforming_strings'];
const KNOWN = new Set([...KEPT, 'application_name', 'user', 'database']);

const AUTHENTICATION_OK = message('R', int32(0));
const READY = message('Z', Buffer.from('I'));

export class PoolerClient implements User {
  readonly #socket: Socket;
  readonly #rules: ClientRules;
  readonly #reader: MessageReader = new MessageReader('client');
  readonly #settings: Map<string, string> = new Map();
  readonly #names: StatementNames | null;
  #pool: ServerPool | null = null;
  #server: ServerConnection | null = null;
  #last: ServerConnection | null = null;
  #queue: Message[] = [];
  #isTaking = false;
  /** Answers `ready` that are still to come, and whether more was sent since the last one asked for. */
  #readies = 0;
  #isOpen = false;

  constructor(socket: Socket, rules: ClientRules, no: number) {
    this.#socket = socket;
    this.#rules = rules;
    this.#names = rules.preparedStatements === 'kept' ? new StatementNames(`client_${no}`) : null;
    socket.on('data', (chunk) => {
      for (const each of this.#reader.push(chunk)) this.#take(each);
    });
    socket.on('error', () => {});
    socket.on('close', () => this.#left());
  }

  answered(answer: Message): void {
    const isOurs = this.#names?.isForClient(answer.type) ?? true;
    if (isOurs) this.#socket.write(answer.raw);
    if (answer.type !== 'Z') return;
    this.#readies -= 1;
    this.#names?.batchEnded();
    if (this.#readies === 0 && !this.#isOpen && answer.body.toString() === 'I') this.#giveBack();
  }

  lost(): void {
    this.#socket.destroy();
  }

  #take(request: Message): void {
    if (request.type === '') this.#startUp(request);
    else if (request.type === 'X') this.#socket.end();
    else {
      this.#queue.push(request);
      void this.#pump();
    }
  }

  #startUp({ body }: Message): void {
    const code = body.readInt32BE(0);
    if (code === CANCEL_REQUEST) this.#socket.end();
    // Encryption is not on offer.
    else if (code !== VERSION_3) this.#socket.write('N');
    else void this.#logIn(startupParameters(body));
  }

  async #logIn(parameters: ReadonlyMap<string, string>): Promise<void> {
    const ignored = new Set(this.#rules.ignoredParameters.map((name) => name.toLowerCase()));
    for (const [given, value] of parameters) {
      const name = given.toLowerCase();
      if (!KNOWN.has(name) && !ignored.has(name)) {
        this.#socket.end(fatal('08P01', `unsupported startup parameter: ${given}`));
        return;
      }
      if (KEPT.includes(name) || name === 'application_name') this.#settings.set(name, value);
    }
    const user = parameters.get('user') ?? 'postgres';
    this.#pool = this.#rules.poolOf(user, parameters.get('database') ?? user);
    try {
      const server = await this.#pool.take(null);
      const statuses = [...server.statuses];
      this.#pool.give(server);
      this.#socket.write(Buffer.concat([AUTHENTICATION_OK, ...statuses, keyData(), READY]));
    } catch (error) {
      this.#socket.end(fatal('08006', `server login failed: ${whatOf(error)}`));
    }
  }

  async #pump(): Promise<void> {
    const pool = this.#pool;
    if (pool === null || this.#isTaking) return;
    if (this.#server === null) {
      this.#isTaking = true;
      try {
        await this.#borrow(pool);
      } catch (error) {
        this.#socket.end(fatal('08006', `no server connection: ${whatOf(error)}`));
        return;
      } finally {
        this.#isTaking = false;
      }
    }
    const queue = this.#queue;
    this.#queue = [];
    for (const request of queue) this.#send(request);
  }

  async #borrow(pool: ServerPool): Promise<void> {
    const server = await pool.take(this.#last);
    const changes = [...this.#settings].filter(
      ([name, value]) => server.settings.get(name) !== value,
    );
    if (changes.length > 0) {
      await server.run(changes.map(([name, value]) => `set ${name} = ${quoted(value)};`).join(' '));
      for (const [name, value] of changes) server.settings.set(name, value);
    }
    if (this.#socket.destroyed) {
      pool.give(server);
      throw new Error('the client left');
    }
    this.#server = server;
    this.#last = server;
    server.user = this;
  }

  #send(request: Message): void {
    const server = this.#server;
    if (server === null) return;
    const asksReady = request.type === 'Q' || request.type === 'S' || request.type === 'F';
    this.#isOpen = !asksReady && request.type !== 'd' && request.type !== 'c';
    if (asksReady) this.#readies += 1;
    if (request.type === 'Q') this.#noteDeallocation(request);
    for (const raw of this.#names?.translate(request, server.prepared) ?? [request.raw]) {
      server.write(raw);
    }
  }

  #noteDeallocation({ body }: Message): void {
    if (/^\s*(deallocate|discard)\s+all/i.test(textsOf(body, 1).texts[0] ?? '')) {
      this.#server?.prepared.clear();
    }
  }

  #giveBack(): void {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    server.user = null;
    this.#pool?.give(server);
    if (this.#queue.length > 0) void this.#pump();
  }

  /** A transaction that was left half-way takes its connection with it. */
  #left(): void {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.user = null;
    server.end();
    server.isLost = true;
    this.#pool?.give(server);
  }
}

function keyData(): Buffer {
  return message('K', int32(1), int32(1));
}

function quoted(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

function whatOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
