import type { Ask, MillraceError, Reply, ReplyBody } from '../core/index.ts';
import { deferred } from '../../kit/index.ts';
import type { Deferred } from '../../kit/index.ts';

/** The replies that callers wait for. Each is delivered once; one without a caller is dropped. */
export class PendingReplies {
  readonly #answers: Map<Ask, Deferred<ReplyBody>> = new Map();
  #last = 0;

  next(): Ask {
    this.#last += 1;
    return this.#last as Ask;
  }

  wait(ask: Ask): Promise<ReplyBody> {
    const answer = deferred<ReplyBody>();
    this.#answers.set(ask, answer);
    return answer.promise;
  }

  answer({ ask, body }: Reply): void {
    const answer = this.#answers.get(ask);
    this.#answers.delete(ask);
    if (body.type === 'refused') answer?.reject(body.error);
    else answer?.resolve(body);
  }

  refuse(ask: Ask, why: MillraceError): void {
    this.#answers.get(ask)?.reject(why);
    this.#answers.delete(ask);
  }

  refuseAllBut(kept: ReadonlySet<Ask>, why: MillraceError): void {
    for (const ask of this.#answers.keys()) if (!kept.has(ask)) this.refuse(ask, why);
  }
}
