/** The log of a job: what there is, page after page, and then whatever comes, as a stream. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LogShape } from '../../../src/scheduler/contract/index.ts';
import { api, request } from '../../api/call.ts';
import { followFrom, isPaused, listen } from '../../api/live.ts';
import { type Problem, asProblem, isAbort } from '../../api/problem.ts';

const PAGE = 1_000;
const RETRY_MS = 2_000;
/** Older lines are left out of the page; the command shows all of them. */
const SHOWN_MAX = 20_000;

export interface LogLines {
  readonly lines: readonly LogShape[];
  readonly problem: Problem | null;
  /** False until the first answer. */
  readonly isRead: boolean;
}

export function useLogLines(job: string, task: string | null): LogLines {
  const state = useSignal<LogLines>({ lines: [], problem: null, isRead: false });
  const paused = isPaused.value;
  useEffect(() => {
    state.value = { lines: [], problem: null, isRead: false };
    const over = new AbortController();
    const add = (read: readonly LogShape[]): void => {
      const lines = [...state.peek().lines, ...read].slice(-SHOWN_MAX);
      state.value = { lines, problem: null, isRead: true };
    };
    const read = new LogReader(job, task, add, over.signal);
    const run = async (): Promise<void> => {
      try {
        await read.all();
        if (!paused) await read.follow();
      } catch (error) {
        if (isAbort(error)) return;
        const problem = asProblem(error);
        state.value = { ...state.peek(), problem };
        // The server may come back; a job that is gone does not.
        if (problem.status === 0 || problem.status >= 500)
          timer = window.setTimeout(() => void run(), RETRY_MS);
      }
    };
    let timer = 0;
    void run();
    return () => {
      over.abort();
      clearTimeout(timer);
    };
  }, [job, task, paused]);
  return state.value;
}

class LogReader {
  readonly #path: string;
  readonly #job: string;
  readonly #add: (lines: readonly LogShape[]) => void;
  readonly #signal: AbortSignal;
  /** The last line that was read. */
  #after = 0;

  constructor(
    job: string,
    task: string | null,
    add: (lines: readonly LogShape[]) => void,
    signal: AbortSignal,
  ) {
    const wanted = task === null ? '' : `&task=${encodeURIComponent(task)}`;
    this.#path = `jobs/${encodeURIComponent(job)}/logs?limit=${PAGE}${wanted}`;
    [this.#job, this.#add, this.#signal] = [job, add, signal];
  }

  /** Everything that is there now. */
  async all(): Promise<void> {
    for (let isMore = true; isMore;) {
      const path = api(`${this.#path}&after=${this.#after}`);
      const text = await (await request(path, { signal: this.#signal })).text();
      const lines = text.split('\n').filter((line) => line !== '');
      this.#take(lines.map((line) => JSON.parse(line) as LogShape));
      isMore = lines.length === PAGE;
    }
  }

  /** What comes after it, until the signal aborts. */
  async follow(): Promise<void> {
    while (!this.#signal.aborted) {
      const path = `${this.#path}&follow=1&after=${this.#after}`;
      await followFrom<LogShape>(path, (lines) => this.#take(lines), this.#signal);
      // The stream ends some time after the job has; a rerun prints more.
      await happened(this.#job, this.#signal);
    }
  }

  #take(lines: readonly LogShape[]): void {
    this.#after = lines.at(-1)?.seq ?? this.#after;
    this.#add(lines);
  }
}

/** Settles with the next event of the job, or when some were missed. */
function happened(job: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      forget();
      resolve();
    };
    const forget = listen((event) => {
      if (event === null || event.job === job) done();
    });
    signal.addEventListener('abort', done);
  });
}
