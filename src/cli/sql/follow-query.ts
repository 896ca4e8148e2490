/** Follows a query to its end: its stages in a terminal, and elsewhere a line if it has to wait. */
import type { QueryCalls } from '../../client/index.ts';
import { isFinished, type JobId } from '../../scheduler/core/index.ts';
import { type Clock, systemClock } from '../../kit/index.ts';
import type { QueryShape } from '../../scheduler/contract/index.ts';
import type { Reply } from '../command.ts';
import { plain } from '../table.ts';
import { Screen } from '../view/screen.ts';
import type { Terminal } from '../view/terminal.ts';
import { stageFrame } from './stage-frame.ts';

export interface FollowQueryOptions {
  readonly reply: Reply;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

type Source = Pick<QueryCalls, 'get'>;

/** A shorter query is not drawn at all. */
const FIRST_LOOK_MS = 400;
const LOOK_MS = 250;
/** Where nothing is drawn there is no hurry to look. */
const QUIET_LOOK_MS = 5_000;

/** Returns the query as it ended, however it ended. */
export async function followQuery(
  calls: Source,
  id: JobId,
  options: FollowQueryOptions,
): Promise<QueryShape> {
  const { terminal } = options.reply;
  return terminal === null
    ? followQuietly(calls, id, options)
    : followOn(terminal, calls, id, options);
}

async function followQuietly(
  calls: Source,
  id: JobId,
  { reply, signal }: FollowQueryOptions,
): Promise<QueryShape> {
  let said = '';
  for (;;) {
    const query = await calls.get(id, { signal, waitMs: QUIET_LOOK_MS });
    if (isFinished(query.state)) return query;
    const { waiting } = query;
    if (waiting === null || waiting.why === said) continue;
    said = waiting.why;
    reply.note(plain(`The query ${waiting.why}.`));
  }
}

async function followOn(
  terminal: Terminal,
  calls: Source,
  id: JobId,
  { reply, signal, clock = systemClock }: FollowQueryOptions,
): Promise<QueryShape> {
  const startedMs = clock.monotonicMs();
  let query = await calls.get(id, { signal, waitMs: FIRST_LOOK_MS });
  if (isFinished(query.state)) return query;
  const screen = new Screen(terminal);
  const release = reply.printThrough((line) => screen.print(line));
  let tick = 0;
  const draw = (): void => {
    const { columns, rows, hasColour, isUnicode } = terminal;
    // By our own clock: that of the server may be another one.
    const nowMs = Date.parse(query.submittedAt) + (clock.monotonicMs() - startedMs);
    screen.draw(
      stageFrame(query, { columns, rows, hasColour, isUnicode, nowMs, tick: (tick += 1) }),
    );
  };
  const stopListening = terminal.onResize(draw);
  try {
    for (;;) {
      draw();
      query = await calls.get(id, { signal, waitMs: LOOK_MS });
      if (!isFinished(query.state)) continue;
      // What follows is the answer; the stages of a query that failed are worth a look.
      if (query.state === 'succeeded') screen.draw([]);
      else draw();
      return query;
    }
  } finally {
    stopListening();
    release();
    screen.close();
  }
}
