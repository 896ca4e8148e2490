/**
 * Prepared statements behind a pooler that keeps them: a client's statement has a name of its own on
 * every server connection, and is prepared there when it is first needed.
 */
import { message, text, textsOf } from './postgres-wire.ts';
import type { Message } from './postgres-wire.ts';

/** Answers to come, in order: is it the client's, or the pooler's own? */
interface Expected {
  readonly type: '1' | '3';
  readonly isForClient: boolean;
  readonly batch: number;
}

export class StatementNames {
  readonly #prefix: string;
  /** What follows the name in the client's own message. */
  readonly #known: Map<string, Buffer> = new Map();
  #expected: Expected[] = [];
  #asked = 0;
  #ended = 0;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** What to send for a client's message; `there` are the statements of the connection. */
  translate(request: Message, there: Set<string>): Buffer[] {
    const { type, body, raw } = request;
    if (type === 'S' || type === 'Q') this.#asked += 1;
    if (type === 'P') return this.#parse(body, there);
    if (type === 'B') {
      const { texts, rest } = textsOf(body, 2);
      const [portal = '', name = ''] = texts;
      if (name === '') return [raw];
      return [...this.#ensure(name, there), message('B', portal, this.#named(name), rest)];
    }
    if ((type !== 'D' && type !== 'C') || body.toString('latin1', 0, 1) !== 'S')
      return this.#asIs(request);
    const name = textsOf(body.subarray(1), 1).texts[0] ?? '';
    if (name === '') return this.#asIs(request);
    const ready = type === 'D' ? this.#ensure(name, there) : this.#forget(name, there);
    return [...ready, message(type, Buffer.from('S'), text(this.#named(name)))];
  }

  /** Answers must be asked about in the order in which they come. */
  isForClient(type: string): boolean {
    if (type !== '1' && type !== '3') return true;
    const at = this.#expected.findIndex((each) => each.type === type);
    return at === -1 || this.#expected.splice(at, 1)[0]?.isForClient === true;
  }

  /** After an error the rest of the batch was not answered. */
  batchEnded(): void {
    this.#ended += 1;
    this.#expected = this.#expected.filter(({ batch }) => batch >= this.#ended);
  }

  #parse(body: Buffer, there: Set<string>): Buffer[] {
    const { texts, rest } = textsOf(body, 1);
    const name = texts[0] ?? '';
    if (name === '') {
      this.#expect('1', true);
      return [message('P', body)];
    }
    this.#known.set(name, rest);
    return this.#prepare(name, rest, there, true);
  }

  #ensure(name: string, there: Set<string>): Buffer[] {
    const rest = this.#known.get(name);
    if (rest === undefined || there.has(this.#named(name))) return [];
    return this.#prepare(name, rest, there, false);
  }

  /** Closed first: whether an earlier attempt got as far as this, nobody knows after an error. */
  #prepare(name: string, rest: Buffer, there: Set<string>, isForClient: boolean): Buffer[] {
    const named = this.#named(name);
    this.#expect('3', false);
    this.#expect('1', isForClient);
    there.add(named);
    return [message('C', Buffer.from('S'), text(named)), message('P', named, rest)];
  }

  #forget(name: string, there: Set<string>): Buffer[] {
    this.#known.delete(name);
    there.delete(this.#named(name));
    this.#expect('3', true);
    return [];
  }

  #asIs({ type, raw }: Message): Buffer[] {
    if (type === 'C') this.#expect('3', true);
    return [raw];
  }

  #expect(type: Expected['type'], isForClient: boolean): void {
    this.#expected.push({ type, isForClient, batch: this.#asked });
  }

  #named(name: string): string {
    return `${this.#prefix}_${name}`;
  }
}
