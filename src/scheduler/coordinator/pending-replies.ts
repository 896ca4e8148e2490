import {
  type Ask,
  type MillraceError,
  PagedMap,
  type Reply,
  type ReplyBody,
} from '../core/index.ts';
import { deferred } from '../../kit/index.ts';

/** Who waits for a reply. */
interface Waiting {
  answer(body: ReplyBody, ask: Ask): void;
  refuse(why: MillraceError, ask: Ask): void;
}

/** The replies that callers wait for. Each is delivered once; one without a caller is dropped. */
export class PendingReplies {
  readonly #waiting: PagedMap<Ask, Waiting> = new PagedMap();
  #last = 0;

  next(): Ask {
    this.#last += 1;
    return this.#last as Ask;
  }

  wait(ask: Ask): Promise<ReplyBody> {
    const { promise, resolve: answer, reject: refuse } = deferred<ReplyBody>();
    this.#waiting.set(ask, { answer, refuse });
    return promise;
  }

  /** The replies to the next `count` asks together. `done` is called with the last of them, not later: when a term ends, all who
   * still wait are refused in the same turn. */
  list(count: number, done: (outcomes: Outcomes) => void): ReplyList {
    return new ReplyList((this.#last + 1) as Ask, count, done);
  }

  /** The reply goes to the list. */
  gather(ask: Ask, list: ReplyList): void {
    this.#waiting.set(ask, list);
  }

  answer({ ask, body }: Reply): void {
    const waiting = this.#waiting.get(ask);
    this.#waiting.delete(ask);
    if (body.type === 'refused') waiting?.refuse(body.error, ask);
    else waiting?.answer(body, ask);
  }

  refuse(ask: Ask, why: MillraceError): void {
    this.#waiting.get(ask)?.refuse(why, ask);
    this.#waiting.delete(ask);
  }

  refuseAllBut(kept: ReadonlySet<Ask>, why: MillraceError): void {
    for (const ask of [...this.#waiting.keys()]) if (!kept.has(ask)) this.refuse(ask, why);
  }
}

export type Outcomes = readonly (ReplyBody | MillraceError)[];

/** What became of each of some asks that follow on each other: one that is refused refuses no other. */
export class ReplyList implements Waiting {
  readonly #first: Ask;
  readonly #outcomes: (ReplyBody | MillraceError)[] = [];
  readonly #done: (outcomes: Outcomes) => void;
  #left: number;

  constructor(first: Ask, count: number, done: (outcomes: Outcomes) => void) {
    this.#first = first;
    this.#left = count;
    this.#done = done;
  }

  answer(body: ReplyBody, ask: Ask): void {
    this.#put(body, ask);
  }

  refuse(why: MillraceError, ask: Ask): void {
    this.#put(why, ask);
  }

  #put(outcome: ReplyBody | MillraceError, ask: Ask): void {
    this.#outcomes[ask - this.#first] = outcome;
    this.#left -= 1;
    if (this.#left === 0) this.#done(this.#outcomes);
  }
}
