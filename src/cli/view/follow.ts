/** Follows a job to its end, for people: a view that is redrawn in a terminal, lines elsewhere. */
import type { DatedJob, HttpClient } from '../../client/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { type Clock, systemClock } from '../../kit/index.ts';
import type { Reply } from '../command.ts';
import { eventLine } from '../job-words.ts';
import { frame } from './frame.ts';
import { JobProgress } from './job-progress.ts';
import { Screen } from './screen.ts';
import type { Terminal } from './terminal.ts';
import { WaitingLines } from './waiting-lines.ts';

export interface FollowOptions {
  readonly signal: AbortSignal;
  readonly reply: Reply;
  /** Where lines go when there is no terminal. */
  readonly say: (line: string) => void;
  /** Lines begin behind this event; without it, with what happens from now on. */
  readonly after: number;
  readonly clock?: Clock;
}

type Source = Pick<HttpClient, 'job' | 'watch'>;

const FRAME_MS = 100;
const LOOK_EVERY_MS = 1_000;
/** Reading and drawing a job of many tasks takes long: the pause is this many times as long. */
const PAUSE_SHARE = 10;

/** Returns the job as it ended, however it ended. */
export function follow(client: Source, id: JobId, options: FollowOptions): Promise<DatedJob> {
  const { terminal } = options.reply;
  return terminal === null
    ? followLines(client, id, options)
    : new LiveView(client, id, terminal, options).run();
}

async function followLines(
  client: Source,
  id: JobId,
  { signal, say, after, clock = systemClock }: FollowOptions,
): Promise<DatedJob> {
  const watching = client.watch(id, { signal, after, retriesForever: false });
  const waiting = new WaitingLines({ look: () => client.job(id, { signal }), say, clock });
  try {
    for (;;) {
      const next = await watching.next();
      if (next.done === true) return next.value;
      say(eventLine(next.value, id));
      waiting.heard();
    }
  } finally {
    waiting.close();
  }
}

class LiveView {
  readonly #client: Source;
  readonly #id: JobId;
  readonly #terminal: Terminal;
  readonly #options: FollowOptions;
  readonly #clock: Clock;
  #screen: Screen | null = null;
  #progress: JobProgress | null = null;
  /** The server's time minus ours. */
  #aheadMs = 0;
  #tick = 0;
  #cancelFrame: () => void = () => {};
  #cancelLook: () => void = () => {};
  #isOver = false;

  constructor(client: Source, id: JobId, terminal: Terminal, options: FollowOptions) {
    this.#client = client;
    this.#id = id;
    this.#terminal = terminal;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  async run(): Promise<DatedJob> {
    const { signal, reply } = this.#options;
    this.#screen = new Screen(this.#terminal);
    const screen = this.#screen;
    const release = reply.printThrough((line) => screen.print(line));
    const stopListening = this.#terminal.onResize(() => this.#draw());
    try {
      const job = await this.#client.job(this.#id, { signal });
      this.#look(job);
      this.#animate();
      this.#lookLater(LOOK_EVERY_MS);
      const watching = this.#client.watch(this.#id, {
        signal,
        after: job.asOf.seq,
        retriesForever: false,
      });
      for (;;) {
        const { done, value } = await watching.next();
        if (done === true) {
          this.#look(value);
          return value;
        }
        this.#progress?.take(value);
      }
    } finally {
      this.#isOver = true;
      this.#cancelFrame();
      this.#cancelLook();
      this.#draw();
      stopListening();
      release();
      screen.close();
    }
  }

  #look(job: DatedJob): void {
    this.#aheadMs = Date.parse(job.asOf.at) - this.#clock.monotonicMs();
    if (this.#progress === null) this.#progress = new JobProgress(job);
    else this.#progress.look(job);
  }

  #animate(): void {
    const startedMs = this.#clock.monotonicMs();
    this.#draw();
    this.#tick += 1;
    const tookMs = this.#clock.monotonicMs() - startedMs;
    const pauseMs = Math.max(FRAME_MS, tookMs * PAUSE_SHARE);
    this.#cancelFrame = this.#clock.after(pauseMs, () => this.#animate());
  }

  #lookLater(ms: number): void {
    this.#cancelLook = this.#clock.after(ms, () => void this.#lookAgain());
  }

  async #lookAgain(): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    if (this.#progress?.wantsLook === true) {
      try {
        this.#look(await this.#client.job(this.#id, { signal: this.#options.signal }));
      } catch {
        // The stream of events tells what is wrong, if it lasts.
      }
    }
    if (this.#isOver) return;
    const tookMs = this.#clock.monotonicMs() - startedMs;
    this.#lookLater(Math.max(LOOK_EVERY_MS, tookMs * PAUSE_SHARE));
  }

  #draw(): void {
    if (this.#progress === null) return;
    const { columns, rows, hasColour, isUnicode } = this.#terminal;
    const nowMs = this.#clock.monotonicMs() + this.#aheadMs;
    const lines = frame(this.#progress.picture, {
      ...{ columns, rows, hasColour, isUnicode },
      ...{ nowMs, tick: this.#tick },
    });
    this.#screen?.draw(lines);
  }
}
