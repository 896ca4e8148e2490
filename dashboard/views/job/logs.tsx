/** What the tasks of a job have printed, as it comes. */
import { type Signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { JobShape, LogShape } from '../../../src/scheduler/contract/index.ts';
import { saveFile } from '../../parts/json-view.tsx';
import { ClockTime, Copy, Empty, Loading, StaleNote } from '../../parts/marks.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { count, plural } from '../../words.ts';
import { LEVELS, type LogRow, logRows, logText } from './log-rows.ts';
import { useLogLines } from './log-lines.ts';

const ROW = 21;
const TONES = { debug: 'muted', info: '', warn: 's-delayed', error: 's-failed' } as const;

export interface LogsProps {
  readonly job: JobShape;
  /** Only the lines of this task. */
  readonly task: string | null;
}

export function Logs({ job, task }: LogsProps): JSX.Element {
  const { lines, problem, isRead } = useLogLines(job.id, task);
  const search = useSignal('');
  const level = useSignal<LogShape['level']>('debug');
  const follows = useSignal(true);
  const opened = useSignal<LogShape | null>(null);
  const { rows, found } = logRows(lines, { search: search.value.trim(), level: level.value });
  if (lines.length === 0 && problem === null)
    return isRead ? (
      <Empty title={job.finishedAt === null ? 'Nothing printed yet' : 'Nothing was printed'}>
        Lines of <code>ctx.log</code> and the output of commands, containers and threads appear
        here.
      </Empty>
    ) : (
      <Loading />
    );
  return (
    <>
      <StaleNote problem={problem} />
      <LogTools search={search} level={level} follows={follows}>
        {found === lines.length
          ? plural(found, 'line')
          : `${count(found)} of ${plural(lines.length, 'line')}`}
        {task !== null && ` of ${task}`}
        <button
          type="button"
          class="quiet"
          onClick={() =>
            saveFile(
              new Blob([lines.map(logText).join('\n')], { type: 'text/plain' }),
              `${job.id}.log`,
            )
          }
        >
          Download
        </button>
      </LogTools>
      {rows.length === 0 ? (
        <Empty title="No line fits">Change the search or the level.</Empty>
      ) : (
        <VirtualList
          label="Log"
          class="log-lines"
          count={rows.length}
          rowHeight={ROW}
          sticksToEnd={follows.value}
          row={(at) => {
            const row = rows[at] as LogRow;
            return (
              <Line
                key={`${row.line.seq}.${row.no}`}
                row={row}
                isOpen={opened.value?.seq === row.line.seq}
                open={() => (opened.value = opened.value?.seq === row.line.seq ? null : row.line)}
              />
            );
          }}
        />
      )}
      {opened.value !== null && <WholeLine line={opened.value} />}
    </>
  );
}

interface ToolsProps {
  readonly search: Signal<string>;
  readonly level: Signal<LogShape['level']>;
  readonly follows: Signal<boolean>;
  readonly children: JSX.Element | (JSX.Element | string | false)[];
}

function LogTools({ search, level, follows, children }: ToolsProps): JSX.Element {
  return (
    <div class="tools">
      <input
        data-search
        type="search"
        aria-label="Search the log"
        placeholder="Find in the log"
        value={search.value}
        onInput={(event) => (search.value = event.currentTarget.value)}
      />
      <select
        aria-label="Lowest level"
        value={level.value}
        onChange={(event) => (level.value = event.currentTarget.value as LogShape['level'])}
      >
        {LEVELS.map((each) => (
          <option key={each} value={each}>
            {each === 'debug' ? 'all levels' : each === 'error' ? 'errors' : `${each} and above`}
          </option>
        ))}
      </select>
      <label class="check">
        <input
          type="checkbox"
          checked={follows.value}
          onChange={() => (follows.value = !follows.value)}
        />{' '}
        Follow
      </label>
      <span class="muted num tools-end">{children}</span>
    </div>
  );
}

function Line({
  row: { line, no, text },
  isOpen,
  open,
}: {
  readonly row: LogRow;
  readonly isOpen: boolean;
  readonly open: () => void;
}): JSX.Element {
  const { at, level, task, attempt, fields } = line;
  const isFirst = no === 0;
  return (
    <div class={`row log-line l-${level} ${isOpen ? 'selected' : ''}`} role="row">
      <span role="cell" class="num muted">
        {isFirst && <ClockTime at={at} />}
      </span>
      <span role="cell" class={TONES[level]}>
        {isFirst && level}
      </span>
      <span role="cell" class="muted clip">
        {isFirst && task}
        {isFirst && attempt > 1 && ` ×${attempt}`}
      </span>
      <span role="cell" class="clip">
        <button type="button" class="cover log-text" onClick={open} aria-expanded={isOpen}>
          {text === '' ? '\u00A0' : text}
          {isFirst && fields !== null && <span class="muted"> {JSON.stringify(fields)}</span>}
        </button>
      </span>
    </div>
  );
}

/** The line that was chosen, unabridged. */
function WholeLine({ line }: { readonly line: LogShape }): JSX.Element {
  const text = logText(line);
  return (
    <div class="whole-line">
      <Copy text={text} label="Copy the line" />
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}
