/** One query from its text to its rows on the screen, or to the reason why there are none. */
import type { HttpClient, QueryRequest } from '../../client/index.ts';
import type { QueryShape } from '../../scheduler/contract/index.ts';
import type { Reply } from '../command.ts';
import { exit, type ExitCode } from '../exit.ts';
import { printable } from '../table.ts';
import { counted, exactSpan } from '../wording.ts';
import { followQuery } from './follow-query.ts';
import { printRows, type Target } from './output.ts';

export interface Errand {
  readonly reply: Reply;
  readonly signal: AbortSignal;
  readonly mode: 'run' | 'explain' | 'analyze';
  readonly target: Target;
  readonly request: QueryRequest;
  /** What an interruption is answered with. */
  readonly interrupted?: string;
  /** Without it the time that the query took is not shown. */
  readonly isTimed?: boolean;
}

const INTERRUPTED = 'Interrupted: cancelling the query. Press Ctrl-C again to exit immediately.';

export async function runQuery(client: HttpClient, errand: Errand): Promise<ExitCode> {
  const { queries } = client;
  const { request, reply, signal, mode, interrupted = INTERRUPTED, isTimed = true } = errand;
  if (mode === 'explain') {
    const plan = await queries.explain(request, { signal });
    reply.say(printable(plan.text.trimEnd()));
    reply.answer(plan);
    return exit.done;
  }
  signal.throwIfAborted();
  const startedMs = performance.now();
  const ended = new AbortController();
  const submitting = queries.submit(request, { signal: ended.signal });
  const stop = (): void => {
    reply.note(interrupted);
    submitting
      .then(({ id }) => queries.cancel(id, 'interrupted'))
      // It was refused, has ended, or no server can be reached.
      .catch(() => ended.abort());
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const { id } = await submitting;
    const query = await followQuery(queries, id, { reply, signal: ended.signal });
    if (signal.aborted) return exit.interrupted;
    if (query.state !== 'succeeded') return tellFailure(query, reply);
    const written = await tell(client, query, errand);
    const took = isTimed ? ` in ${exactSpan(performance.now() - startedMs)}` : '';
    reply.note(`${written}${took}${distribution(query)}.`);
    return exit.done;
  } catch (error) {
    if (signal.aborted) return exit.interrupted;
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function tell(client: HttpClient, query: QueryShape, errand: Errand): Promise<string> {
  const { reply, signal, mode, target } = errand;
  const { queries } = client;
  if (mode === 'run') return printRows({ calls: queries, query, target, reply, signal });
  const text = await queries.analysis(query.id, { signal });
  reply.say(printable(text.trimEnd()));
  reply.answer({ query, text });
  return 'Analyzed';
}

function distribution({ single, stages }: QueryShape): string {
  const tasks = stages.reduce((sum, stage) => sum + stage.tasks.total, 0);
  if (single !== null || tasks <= 1) return '';
  return ` (${counted(stages.length, 'stage')}, ${counted(tasks, 'task')})`;
}

function tellFailure({ id, state, error }: QueryShape, reply: Reply): ExitCode {
  const message = error?.message ?? `The query was ${state}.`;
  reply.note(`millrace: ${printable(message)}`);
  reply.answer({ id, state, error: error ?? { code: state, message } });
  return exit.workFailed;
}
