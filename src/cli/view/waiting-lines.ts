/**
 * A job that no node can run has no events, so a line-by-line view would show nothing. After a while of silence
 * it says what is waited for, once for each reason.
 */
import type { DatedJob } from '../../client/index.ts';
import type { Clock } from '../../kit/index.ts';
import { plain } from '../table.ts';
import { reasonWords } from '../wording.ts';

export interface WaitingOptions {
  readonly look: () => Promise<DatedJob>;
  readonly say: (line: string) => void;
  readonly clock: Clock;
}

const QUIET_MS = 2_000;
/** Things change while nothing happens: a worker may have come that can do half of it. */
const LOOK_EVERY_MS = 15_000;

export class WaitingLines {
  readonly #options: WaitingOptions;
  readonly #said: Set<string> = new Set();
  #cancel: () => void = () => {};
  /** Counts the silences: an answer that comes after the next event is outdated. */
  #silence = 0;

  constructor(options: WaitingOptions) {
    this.#options = options;
    this.heard();
  }

  /** Restarts the period of silence. */
  heard(): void {
    this.#silence += 1;
    this.#lookAfter(QUIET_MS);
  }

  close(): void {
    this.#silence += 1;
    this.#cancel();
  }

  #lookAfter(ms: number): void {
    this.#cancel();
    this.#cancel = this.#options.clock.after(ms, () => void this.#look());
  }

  async #look(): Promise<void> {
    const silence = this.#silence;
    try {
      const job = await this.#options.look();
      if (silence === this.#silence) this.#tell(job);
    } catch {
      // Whatever is wrong with the server, the stream of events tells it, if it lasts.
    }
    if (silence === this.#silence) this.#lookAfter(LOOK_EVERY_MS);
  }

  #tell(job: DatedJob): void {
    for (const [why, [first = '', ...others]] of reasons(job)) {
      // A countdown is the same reason.
      const reason = why.replaceAll(/\d+ ms\b/g, '');
      if (this.#said.has(reason)) continue;
      this.#said.add(reason);
      const who =
        others.length === 0
          ? `Task ${first} waits`
          : `Task ${first} and ${others.length} more wait`;
      this.#options.say(plain(`${who}: ${reasonWords(why)}.`));
    }
  }
}

/** Tasks by what they wait for, without those that wait for other tasks of the job. */
function reasons({ tasks }: DatedJob): ReadonlyMap<string, readonly string[]> {
  const live = new Set(tasks.filter(({ finishedAt }) => finishedAt === null).map(({ id }) => id));
  const found = new Map<string, string[]>();
  for (const { id, waiting, dependsOn, state } of tasks) {
    if (waiting === null) continue;
    if (state === 'blocked' && dependsOn.some((each) => live.has(each))) continue;
    found.set(waiting, [...(found.get(waiting) ?? []), id]);
  }
  return found;
}
