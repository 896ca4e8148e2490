import { setImmediate as nextTurn } from 'node:timers/promises';
import { MillraceError, QueueCounter, parsePause, parsePauseTarget } from '../core/index.ts';
import type { Pause, PauseTarget, ReplyBody } from '../core/index.ts';
import type { ChangedQueue, CountedQueue, QueueService, QueueShape } from '../contract/index.ts';
import type { Dispatcher } from './dispatcher.ts';

/** Some milliseconds; other callers have their turn in between. */
const PLACES_A_TURN = 10_000;

/** Serves operators' calls about queues on the leader. */
export class LeaderQueueService implements QueueService {
  readonly #dispatcher: Dispatcher;
  #listing: Promise<readonly CountedQueue[]> | null = null;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  /** Callers that ask at the same time get one answer: whoever may read can ask as often as he likes. */
  list(): Promise<readonly CountedQueue[]> {
    this.#listing ??= this.#list().finally(() => {
      this.#listing = null;
    });
    return this.#listing;
  }

  async #list(): Promise<readonly CountedQueue[]> {
    const counter = this.#dispatcher.peek((state) => new QueueCounter(state));
    while (counter.count(PLACES_A_TURN)) await nextTurn();
    return counter.result().map(({ pause, ready, running, ...target }) => {
      return { ...shapeOf(target, pause), ready, running };
    });
  }

  async pause(value: unknown): Promise<ChangedQueue> {
    const { target, reason } = parsePause(value);
    const reply = await this.#dispatcher.ask((ask) => {
      return { type: 'pauseQueue', ask, target, reason };
    });
    return asChanged(target, reply);
  }

  async resume(value: unknown): Promise<ChangedQueue> {
    const target = parsePauseTarget(value);
    const reply = await this.#dispatcher.ask((ask) => ({ type: 'resumeQueue', ask, target }));
    return asChanged(target, reply);
  }
}

function asChanged(target: PauseTarget, reply: ReplyBody): ChangedQueue {
  if (reply.type === 'pause') {
    return { ...shapeOf(target, reply.pause), changed: reply.changed };
  }
  throw new MillraceError({ code: 'invariant', what: `a queue was asked, ${reply.type} answered` });
}

function shapeOf({ kind, name }: PauseTarget, pause: Pause | null): QueueShape {
  return {
    executor: kind === 'executor' ? name : null,
    key: kind === 'key' ? name : null,
    paused:
      pause === null ? null : { since: new Date(pause.since).toISOString(), reason: pause.reason },
  };
}
