/** What the tasks of a job have printed, as it comes. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { JobShape, LogShape } from '../../../src/scheduler/contract/index.ts';
import { request } from '../../api/call.ts';
import { isPaused } from '../../api/live.ts';
import { type Problem, asProblem, isAbort } from '../../api/problem.ts';
import { ClockTime, Empty, StaleNote } from '../../parts/marks.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';

const ROW = 22;
const LOOK_MS = 1_000;
const PAGE = 1_000;
/** Older lines are left out of the page; the command shows all of them. */
const SHOWN_MAX = 20_000;
const TONES = { debug: 'muted', info: '', warn: 's-delayed', error: 's-failed' } as const;

export interface LogsProps {
  readonly job: JobShape;
  /** Only the lines of this task. */
  readonly task: string | null;
}

export function Logs({ job, task }: LogsProps): JSX.Element {
  const { lines, problem } = useLines(job.id, task);
  return (
    <>
      <StaleNote problem={problem} />
      {lines.length === 0 ? (
        <Empty title="Nothing was printed">
          Lines of <code>ctx.log</code> and the output of commands, containers and threads appear
          here.
        </Empty>
      ) : (
        <VirtualList
          label="Log"
          class="log-lines"
          count={lines.length}
          rowHeight={ROW}
          row={(at) => <Line key={lines[at]?.seq} line={lines[at] as LogShape} />}
        />
      )}
    </>
  );
}

function Line({ line }: { readonly line: LogShape }): JSX.Element {
  const { at, level, task, attempt, message, fields } = line;
  const text = fields === null ? message : `${message} ${JSON.stringify(fields)}`;
  return (
    <div class="row log-line" role="row">
      <ClockTime at={at} />
      <span class={TONES[level]}>{level}</span>
      <span class="muted">
        {task}
        {attempt > 1 && ` #${attempt}`}
      </span>
      <code title={text}>{text}</code>
    </div>
  );
}

function useLines(
  job: string,
  task: string | null,
): { readonly lines: readonly LogShape[]; readonly problem: Problem | null } {
  const lines = useSignal<readonly LogShape[]>([]);
  const problem = useSignal<Problem | null>(null);
  const paused = isPaused.value;
  useEffect(() => {
    lines.value = [];
    const over = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (after: number): Promise<void> => {
      let seen = after;
      let isMore = false;
      try {
        const query = `after=${after}&limit=${PAGE}${task === null ? '' : `&task=${encodeURIComponent(task)}`}`;
        const path = `jobs/${encodeURIComponent(job)}/logs?${query}`;
        const text = await (await request(`api/v1/${path}`, { signal: over.signal })).text();
        const read = text
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as LogShape);
        if (read.length > 0) lines.value = [...lines.value, ...read].slice(-SHOWN_MAX);
        seen = read.at(-1)?.seq ?? after;
        isMore = read.length === PAGE;
        problem.value = null;
      } catch (error) {
        if (isAbort(error)) return;
        problem.value = asProblem(error);
      }
      if (over.signal.aborted || paused) return;
      timer = setTimeout(() => void look(seen), isMore ? 0 : LOOK_MS);
    };
    void look(0);
    return () => {
      over.abort();
      clearTimeout(timer);
    };
  }, [job, task, paused]);
  return { lines: lines.value, problem: problem.value };
}
