/** Events, newest first. */
import type { JSX } from 'preact';
import type { EventShape } from '../../src/scheduler/contract/index.ts';
import { ClockTime, Empty, ShortId } from '../parts/marks.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { link } from '../route.ts';
import { count } from '../words.ts';

const ROW = 28;

export interface EventTableProps {
  readonly events: readonly EventShape[];
  /** Whether they are of several jobs. */
  readonly hasJob: boolean;
}

export function EventTable({ events, hasJob }: EventTableProps): JSX.Element {
  if (events.length === 0) return <Empty title="No events">They appear here as they happen.</Empty>;
  return (
    <VirtualList
      label="Events"
      class={hasJob ? 'events' : 'events own'}
      count={events.length}
      rowHeight={ROW}
      header={
        <div class="row head" role="row">
          <span role="columnheader" class="right">
            No.
          </span>
          <span role="columnheader">Time</span>
          <span role="columnheader">Event</span>
          {hasJob && <span role="columnheader">Job</span>}
          <span role="columnheader">Task</span>
          <span role="columnheader">Node</span>
          <span role="columnheader">Detail</span>
        </div>
      }
      row={(at) => (
        <EventRow key={events[at]?.seq} event={events[at] as EventShape} hasJob={hasJob} />
      )}
    />
  );
}

const TONES: Readonly<Record<string, string>> = {
  completed: 'succeeded',
  'job.succeeded': 'succeeded',
  failed: 'failed',
  dead: 'failed',
  'job.failed': 'failed',
  'node.dead': 'failed',
  'node.stale': 'delayed',
  'node.quarantined': 'delayed',
  retried: 'delayed',
  reassigned: 'delayed',
  started: 'running',
  'job.started': 'running',
};

const DETAIL_MAX = 300;

function EventRow({
  event,
  hasJob,
}: {
  readonly event: EventShape;
  readonly hasJob: boolean;
}): JSX.Element {
  const { seq, at, kind, job, task, node, attempt, detail } = event;
  const text = detail === null ? '' : JSON.stringify(detail).slice(0, DETAIL_MAX);
  return (
    <div class="row" role="row">
      <span role="cell" class="right num muted">
        {count(seq)}
      </span>
      <span role="cell" class="num">
        <ClockTime at={at} />
      </span>
      <span role="cell" class={`s-${TONES[kind] ?? 'plain'}`}>
        {kind}
      </span>
      {hasJob && (
        <span role="cell">
          {job !== null && (
            <a href={link(['jobs', job])}>
              <ShortId id={job} />
            </a>
          )}
        </span>
      )}
      <span role="cell" class="clip">
        {task}
        {(attempt ?? 0) > 1 && <span class="muted"> ×{attempt}</span>}
      </span>
      <span role="cell" class="clip muted">
        {node}
      </span>
      <span role="cell" class="clip muted" title={text}>
        <code>{text}</code>
      </span>
    </div>
  );
}
