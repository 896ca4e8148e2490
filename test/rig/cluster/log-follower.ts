/**
 * Follows the event log of one node as a browser's EventSource does: it comes back after every interruption with the
 * last id that it was given, and ends when the node says that this place is not part of its history.
 */
import { onTestFinished } from 'vitest';
import { pauseMs } from './deadline.ts';
import { sseEvents } from './sse.ts';
import type { SseEvent } from './sse.ts';

const BETWEEN_TRIES_MS = 50;

export class LogFollower {
  readonly name: string;
  readonly events: SseEvent[] = [];
  /** The answer that ended it: 410, and why. */
  refusal: string | null = null;
  #place: string;
  #trouble = 'no trouble';
  readonly #url: URL;
  readonly #stop: AbortController = new AbortController();

  /** Ends with the test. */
  constructor(name: string, url: string | null, place = '0') {
    this.name = name;
    this.#place = place;
    this.#url = new URL('/api/v1/events', url ?? '');
    void this.#run();
    onTestFinished(() => this.#stop.abort());
  }

  get last(): number {
    return this.events.at(-1)?.id ?? 0;
  }

  /** Where it is, for a test that waits for it in vain. */
  get summary(): string {
    const { name, events, last, refusal } = this;
    return `${name}: ${events.length} events, the last is ${last}; ${refusal ?? this.#trouble}`;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted && this.refusal === null) {
      try {
        await this.#follow(signal);
      } catch (error) {
        // The node is gone, or does not answer yet.
        this.#trouble = String(error);
      }
      await pauseMs(BETWEEN_TRIES_MS);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const headers = { 'last-event-id': this.#place };
    const response = await fetch(this.#url, { headers, signal });
    if (response.status === 410) this.refusal = await response.text();
    if (!response.ok || response.body === null) return;
    for await (const event of sseEvents(response.body, () => {})) {
      this.#place = event.place;
      // A block without data only names a place.
      if (event.data !== '') this.events.push(event);
    }
  }
}
