/**
 * A way to PostgreSQL on which an answer can be lost: a statement reaches the server and is done there,
 * its answer is swallowed, and the connection is reset. What the client saw is a COMMIT of unknown
 * outcome; what happened is known here.
 */
import { deferred } from '../../../src/kit/index.ts';
import type { Deferred } from '../../../src/kit/index.ts';
import { MessageReader, textsOf } from './postgres-wire.ts';
import type { Message } from './postgres-wire.ts';
import { Proxy, targetOf } from './proxy.ts';
import type { Inspector } from './relay.ts';

/** What the server answered to the statement whose answer was lost. */
export type LostAnswer = 'done' | 'refused';

/** The leader's group commit, by the one function that it always ends with. */
const isGroupCommit = (statement: string): boolean => statement.includes('millrace.append(');

interface Trap {
  readonly matches: (statement: string) => boolean;
  readonly sprung: Deferred<LostAnswer>;
}

export class LossyDatabase {
  readonly proxy: Proxy;
  readonly url: string;
  readonly #traps: Trap[];

  private constructor(proxy: Proxy, url: string, traps: Trap[]) {
    this.proxy = proxy;
    this.url = proxy.through(url);
    this.#traps = traps;
  }

  static async start(url: string): Promise<LossyDatabase> {
    const traps: Trap[] = [];
    const inspect = (): Inspector => new Conversation(traps);
    return new LossyDatabase(await Proxy.start(targetOf(url), { inspect }), url, traps);
  }

  /** The next statement that matches loses its answer. Resolves when that has happened. */
  loseAnswer(matches: (statement: string) => boolean = isGroupCommit): Promise<LostAnswer> {
    const trap = { matches, sprung: deferred<LostAnswer>() };
    this.#traps.push(trap);
    return trap.sprung.promise;
  }
}

/** One client's talk with the server: knows which statement is being executed. */
class Conversation implements Inspector {
  readonly #traps: Trap[];
  readonly #requests: MessageReader = new MessageReader('client');
  readonly #answers: MessageReader = new MessageReader('server');
  readonly #statements: Map<string, string> = new Map();
  #caught: Trap | null = null;
  #answer: LostAnswer = 'done';

  constructor(traps: Trap[]) {
    this.#traps = traps;
  }

  request(chunk: Buffer): void {
    for (const each of this.#requests.push(chunk)) {
      const statement = this.#executed(each);
      if (statement === null || this.#caught !== null) continue;
      const at = this.#traps.findIndex(({ matches }) => matches(statement));
      if (at !== -1) this.#caught = this.#traps.splice(at, 1)[0] ?? null;
    }
  }

  answer(chunk: Buffer): ReturnType<Inspector['answer']> {
    const messages = this.#answers.push(chunk);
    if (this.#caught === null) return 'forward';
    for (const { type } of messages) {
      if (type === 'E') this.#answer = 'refused';
      // Ready for the next one: this one is over, whatever became of it.
      if (type !== 'Z') continue;
      this.#caught.sprung.resolve(this.#answer);
      return 'reset';
    }
    return 'swallow';
  }

  #executed({ type, body }: Message): string | null {
    if (type === 'Q') return textsOf(body, 1).texts[0] ?? null;
    if (type !== 'P' && type !== 'B') return null;
    const [first = '', second = ''] = textsOf(body, 2).texts;
    if (type === 'B') return this.#statements.get(second) ?? null;
    this.#statements.set(first, second);
    return null;
  }
}
