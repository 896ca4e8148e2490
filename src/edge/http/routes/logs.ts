/** What the tasks of a job have printed: by line, or as a stream. */
import type { TaskId } from '../../../scheduler/core/index.ts';
import { isFinished } from '../../../scheduler/core/index.ts';
import { sleepOrAbort, systemClock } from '../../../kit/index.ts';
import type { LogPage, LogShape, LogsQuery, Reader } from '../../../scheduler/contract/index.ts';
import { checkedId, jobIn } from '../fields.ts';
import { badInput, notFound } from '../refusal.ts';
import type { Call, Route } from '../route.ts';

const LIMIT_DEFAULT = 1_000;
const LIMIT_MAX = 1_000;
/** How often a follower looks for new lines, and how long it waits for the last ones after the end of a job. */
const LOOK_MS = 400;
const LAST_LINES_MS = 1_500;
const HEARTBEAT_MS = 5_000;

export const logRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/v1/jobs/:id/logs',
    role: 'read',
    summary: 'Read what the tasks of a job have printed',
    description:
      'Lines of `ctx.log`, and what commands, containers and threads have printed, as NDJSON in the order of ' +
      '`seq`. Fewer lines than `limit` are all there are so far. With `follow=1` it is a stream of server-sent ' +
      'events: `id` is `seq`, `data` a LogLine; it ends with the event `end` some time after the job has ended.',
    parameters: {
      task: { type: 'string', maxLength: 200, description: 'Only lines of this task.' },
      attempt: {
        type: 'integer',
        minimum: 1,
        maximum: 1_000_000_000,
        description: 'Only lines of this attempt.',
      },
      after: {
        type: 'integer',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The `seq` of the last line that was seen.',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: LIMIT_MAX,
        description: `Page size; ${LIMIT_DEFAULT} by default.`,
      },
      follow: { type: 'enum', values: ['1'], description: 'Stream lines as they come.' },
    },
    headers: { 'Last-Event-ID': 'With `follow`: wins over `after`.' },
    answers: {
      200: {
        description: 'Lines.',
        schema: 'LogLine',
        contentType: 'application/x-ndjson',
        otherTypes: ['text/event-stream'],
      },
    },
    async handle(call, { reader }) {
      const query = queryOf(call);
      const first = await reader.logs(query);
      if (first === null) throw notFound(`There is no job ${query.job}.`);
      if (call.query['follow'] === undefined) {
        const text = first.lines.map((line) => `${JSON.stringify(line)}\n`).join('');
        return { kind: 'text', status: 200, type: 'application/x-ndjson', text };
      }
      return {
        kind: 'bytes',
        status: 200,
        type: 'text/event-stream; charset=utf-8',
        headers: { 'x-accel-buffering': 'no' },
        isEndless: true,
        pieces: followed(reader, query, first, call.signal),
      };
    },
  },
];

function queryOf(call: Call): LogsQuery {
  const { task, attempt, after = '0', limit = String(LIMIT_DEFAULT), follow } = call.query;
  const header = call.headers['last-event-id'];
  const seen = follow !== undefined && typeof header === 'string' && header !== '' ? header : after;
  if (!/^\d{1,15}$/.test(seen)) throw badInput('Last-Event-ID', 'Not a valid line number.');
  return {
    job: jobIn(call),
    after: Number(seen),
    limit: Number(limit),
    ...(task === undefined ? {} : { task: checkedId(task, '?task') as TaskId }),
    ...(attempt === undefined ? {} : { attempt: Number(attempt) }),
  };
}

async function* followed(
  reader: Pick<Reader, 'logs'>,
  query: LogsQuery,
  first: LogPage,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  let page: LogPage = first;
  let after = query.after;
  let endedAtMs: number | null = null;
  let saidAtMs = systemClock.monotonicMs();
  yield Buffer.from('retry: 2000\n\n');
  while (!signal.aborted) {
    const nowMs = systemClock.monotonicMs();
    if (page.lines.length > 0) {
      after = page.lines.at(-1)?.seq ?? after;
      yield Buffer.from(page.lines.map(blockOf).join(''));
      saidAtMs = nowMs;
      endedAtMs = null;
    } else if (isFinished(page.state)) {
      endedAtMs ??= nowMs;
      if (nowMs - endedAtMs >= LAST_LINES_MS) break;
    } else endedAtMs = null;
    if (nowMs - saidAtMs >= HEARTBEAT_MS) {
      yield Buffer.from(': still here\n\n');
      saidAtMs = nowMs;
    }
    if (page.lines.length < query.limit) await sleepOrAbort(systemClock, LOOK_MS, signal);
    if (signal.aborted) return;
    const next = await reader.logs({ ...query, after });
    // Its retention is over.
    if (next === null) break;
    page = next;
  }
  if (!signal.aborted) yield Buffer.from('event: end\ndata: {}\n\n');
}

/** JSON has no line ends, so no message can end its block. */
function blockOf(line: LogShape): string {
  return `id: ${line.seq}\nevent: line\ndata: ${JSON.stringify(line)}\n\n`;
}
