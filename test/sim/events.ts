/**
 * Events that simulated clients send. Each has a key, and so have those who wait for it: whoever is meant and was there
 * before the event was sent must not wait any more when it is acknowledged.
 */
import { awaitedEvent, decodeJobOptions, isFinished } from '../../src/scheduler/core/index.ts';
import type { AwaitedSignal, AwaitedThings, JobId } from '../../src/scheduler/core/index.ts';
import type { EventReply } from '../../src/scheduler/contract/index.ts';
import type { Leader } from '../../src/scheduler/coordinator/index.ts';
import type { Findings } from './findings.ts';
import type { Journal } from './journal.ts';
import type { Random } from './random.ts';
import type { Witness } from './witness.ts';
import type { World } from './world.ts';

/** The events that anybody waits for, and the one that cancels jobs. */
export const EVENTS: readonly string[] = ['paid', 'moved'];
const CANCELLING = 'called-off';
const KEYS = 3;

export interface SimEvent {
  readonly id: string;
  readonly name: string;
  readonly key: number;
  /** As JOB/TASK: those that the answers have listed. */
  readonly woken: Set<string>;
  wasSent: boolean;
}

export function drawKey(random: Random): number {
  return random.whole(0, KEYS - 1);
}

export function dataOf({ id, key }: SimEvent): object {
  return { order: { key, id } };
}

/** Of the field `cancelOn`. */
export function cancelOn(random: Random): object {
  return { cancelOn: [{ event: CANCELLING, match: { 'order.key': drawKey(random) } }] };
}

/** Who is meant by the event, as far as it is committed: waits of tasks, and jobs. */
function meantBy(journal: Journal, event: SimEvent, nowMs: number): ReadonlySet<string> {
  const meant = new Set<string>();
  for (const { jobNo, taskNo, run, waits } of journal.taskRows()) {
    if (waits === null || journal.jobs.get(jobNo)?.stopping !== null) continue;
    const { signals, events = [] } = JSON.parse(waits) as AwaitedThings;
    for (const wanted of [...signals, ...events]) {
      if (isMeant(wanted, event, nowMs)) meant.add(`${jobNo}/${taskNo}/${run}/${wanted.step}`);
    }
  }
  for (const { no, run, state, stopping, options } of journal.jobs.values()) {
    if (isFinished(state) || stopping !== null || event.name !== CANCELLING) continue;
    const isNamed = decodeJobOptions(options).cancelOn.some(
      ({ match: [first] }) => first?.[1] === event.key,
    );
    if (isNamed) meant.add(`job ${no}, run ${run}`);
  }
  return meant;
}

function isMeant(wanted: AwaitedSignal, { name, key }: SimEvent, nowMs: number): boolean {
  const { until = Infinity, isTaken = false, match = [] } = wanted;
  return awaitedEvent(wanted.name) === name && match[0]?.[1] === key && !isTaken && until > nowMs;
}

export interface SenderOptions {
  readonly witness: Witness;
  readonly journal: Journal;
  readonly findings: Findings;
  readonly world: World;
}

/** Asks until it is answered; null when the answer is worth nothing. */
type Ask = (act: (leader: Leader) => Promise<EventReply>) => Promise<EventReply | null>;

/** The part of a client that sends events. */
export class EventSender {
  readonly #random: Random;
  readonly #options: SenderOptions;
  readonly #ask: Ask;

  constructor(random: Random, options: SenderOptions, ask: Ask) {
    this.#random = random;
    this.#options = options;
    this.#ask = ask;
  }

  /** For those who wait, for jobs that it cancels, or one that was sent before. */
  async some(): Promise<void> {
    const random = this.#random;
    const sent = [...this.#options.witness.events.values()];
    if (sent.length > 0 && random.chance(0.3)) return this.#send(random.pick(sent));
    return this.send(random.chance(0.2) ? CANCELLING : random.pick(EVENTS), drawKey(random));
  }

  async send(name: string, key: number): Promise<void> {
    const id = this.#random.id('evt');
    const event = { id, name, key, woken: new Set<string>(), wasSent: false };
    this.#options.witness.events.set(id, event);
    await this.#send(event);
  }

  async #send(event: SimEvent): Promise<void> {
    const { journal, world } = this.#options;
    const isFirst = !event.wasSent;
    event.wasSent = true;
    const before = meantBy(journal, event, world.databaseNow());
    const body = { data: dataOf(event), id: event.id };
    const newId = (): JobId => this.#random.id('e') as JobId;
    const reply = await this.#ask((leader) => leader.jobs.send(event.name, body, { newId }));
    if (reply !== null) this.#acknowledged(event, reply, isFirst ? before : new Set());
  }

  /** Sent again, it means nobody who has taken it before: then `before` is empty. */
  #acknowledged(event: SimEvent, reply: EventReply, before: ReadonlySet<string>): void {
    const { findings, journal, world } = this.#options;
    const { woken, note = '' } = reply;
    for (const { job, task } of woken) {
      const key = `${job}/${task}`;
      if (event.woken.has(key)) findings.add('signals', `${event.id} has woken ${key} twice`);
      event.woken.add(key);
    }
    // A job takes so many and no more.
    if (note.includes('limit')) return;
    for (const each of meantBy(journal, event, world.databaseNow())) {
      if (!before.has(each)) continue;
      findings.add('signals', `${event.id} was sent, and ${each} has missed it`);
    }
  }
}
