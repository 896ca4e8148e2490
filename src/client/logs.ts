/** What the tasks of a job have printed, over as many connections as it takes. */
import type { LogShape } from '../scheduler/contract/index.ts';
import { defined, backoffMs, sleep } from '../kit/index.ts';
import type { Caller } from './calls/caller.ts';
import { parsedObject, strangeAnswer } from './calls/problem.ts';
import { messagesOf } from './events.ts';
import { BACKOFF, type LogsOptions, type Pace } from './options.ts';

const PAGE = 1_000;

export async function* readLogs(
  caller: Caller,
  pace: Pace,
  job: string,
  options: LogsOptions,
): AsyncGenerator<LogShape, void> {
  const { task, attempt, follow = false, signal } = options;
  const path = `/api/v1/jobs/${encodeURIComponent(job)}/logs`;
  const query = defined({ task, attempt: attempt?.toString() });
  const call = { method: 'GET', path, isRepeatable: true, what: 'the log', signal } as const;
  let after = options.after ?? 0;
  for (let fruitless = 0; ; fruitless += 1) {
    if (!follow) {
      const page = { ...query, after: String(after), limit: String(PAGE) };
      const { body, server } = await caller.call({ ...call, query: page });
      const lines = body.split('\n').filter((line) => line !== '');
      for (const line of lines) {
        const shape = lineOf(line, server);
        after = shape.seq;
        yield shape;
      }
      if (lines.length < PAGE) return;
      continue;
    }
    const headers = { accept: 'text/event-stream' };
    const following = { ...query, after: String(after), follow: '1' };
    const stream = await caller.open({ ...call, query: following, headers, retriesForever: true });
    for await (const { event, data } of messagesOf(stream)) {
      if (event === 'end') return;
      if (data === null) continue;
      const shape = lineOf(data, stream.server.href);
      if (shape.seq <= after) continue;
      after = shape.seq;
      fruitless = 0;
      yield shape;
    }
    signal?.throwIfAborted();
    caller.lost(stream.server);
    await sleep(pace.clock, backoffMs(BACKOFF, fruitless, pace.random), signal);
  }
}

function lineOf(text: string, server: string): LogShape {
  const value = parsedObject(text);
  if (typeof value?.['seq'] !== 'number') throw strangeAnswer(200, server);
  return value as unknown as LogShape;
}
