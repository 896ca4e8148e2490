/** The log of a job, page after page, and then whatever comes. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LogShape } from '../../../src/scheduler/contract/index.ts';
import { api, request } from '../../api/call.ts';
import { isPaused } from '../../api/live.ts';
import { type Problem, asProblem, isAbort } from '../../api/problem.ts';

const LOOK_MS = 1_000;
const PAGE = 1_000;
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
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (after: number): Promise<void> => {
      let [seen, isMore] = [after, false];
      try {
        const read = await linesAfter(job, task, after, over.signal);
        const { lines, isRead } = state.peek();
        const isNews = read.length > 0 || !isRead || state.peek().problem !== null;
        if (isNews)
          state.value = {
            lines: read.length === 0 ? lines : [...lines, ...read].slice(-SHOWN_MAX),
            problem: null,
            isRead: true,
          };
        seen = read.at(-1)?.seq ?? after;
        isMore = read.length === PAGE;
      } catch (error) {
        if (isAbort(error)) return;
        state.value = { ...state.peek(), problem: asProblem(error) };
      }
      if (over.signal.aborted || (paused && !isMore)) return;
      timer = setTimeout(() => void look(seen), isMore ? 0 : LOOK_MS);
    };
    void look(0);
    return () => {
      over.abort();
      clearTimeout(timer);
    };
  }, [job, task, paused]);
  return state.value;
}

async function linesAfter(
  job: string,
  task: string | null,
  after: number,
  signal: AbortSignal,
): Promise<readonly LogShape[]> {
  const query = new URLSearchParams({
    after: String(after),
    limit: String(PAGE),
    ...(task === null ? {} : { task }),
  });
  const path = api(`jobs/${encodeURIComponent(job)}/logs?${query}`);
  const text = await (await request(path, { signal })).text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogShape);
}
