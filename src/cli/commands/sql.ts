import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import type { HttpClient, QueryRequest } from '../../client/index.ts';
import type { QueryShape } from '../../scheduler/contract/index.ts';
import type { CommandModule, Reply } from '../command.ts';
import { withEmbedded } from '../embedded.ts';
import { exit, type ExitCode } from '../exit.ts';
import { declareServer, wholeOption, withClient, wrongUse } from '../server-call.ts';
import { withWords } from '../settings.ts';
import { followQuery } from '../sql/follow-query.ts';
import { FORMATS, printRows, type Target, targetOf } from '../sql/output.ts';
import { requestOf, type SqlFlags } from '../sql/request.ts';
import { counted, exactSpan } from '../wording.ts';

const ROWS = 1_000;
const WORKERS_MAX = 64;

interface Flags extends SqlFlags {
  readonly workers?: string;
  readonly slots?: string;
  readonly format?: string;
  readonly output?: string;
  readonly rows?: string;
  readonly explain?: true;
  readonly analyze?: true;
  readonly server?: string;
  readonly catalog?: string;
  readonly json?: true;
}

const more = (value: string, previous: readonly string[] = []): string[] => [...previous, value];

export const command: CommandModule = {
  examples: [
    "millrace sql 'select 6 * 7 as answer'",
    "millrace sql 'select item, sum(amount) from sales group by item' --table 'sales=data/*.parquet'",
    'millrace sql --file report.sql --catalog tables.yaml --param since=2026-11-01 --format csv',
    "millrace sql 'from sales' --table 'sales=data/*.csv' --output sales.parquet",
    "millrace sql 'select count(*) from sales' --table 'sales=data/*.parquet' --workers 2 --analyze",
  ],
  declare(command: Command) {
    command
      .argument(
        '[query]',
        'a SELECT, EXPLAIN, DESCRIBE, SHOW TABLES or SUMMARIZE in DuckDB SQL; - reads it from stdin',
      )
      .option('--file <file>', 'read the query from a file')
      .option(
        '--table <name=glob>',
        'a table: a path, a glob, or a list or an object as JSON; repeatable',
        more,
      )
      .option('--param <name=value>', 'a parameter: the value of $name or $1; repeatable', more)
      .option(
        '--set <name=value>',
        'a query setting, for example shufflePartitions=4; repeatable',
        more,
      )
      .option(
        '--time-zone <zone>',
        'time zone of the session, for example Europe/Berlin (default UTC)',
      )
      .addOption(withWords('--format <format>', 'table, json, ndjson, csv or parquet', FORMATS))
      .option('--output <file>', 'write the rows to a file; its extension selects the format')
      .option('--rows <n>', `maximum number of rows that a table shows (default ${ROWS})`)
      .option('--explain', 'show the plan without running the query')
      .option('--analyze', 'run the query and show statistics per stage instead of rows')
      .option('--workers <n>', 'worker processes, without --server (default 1)');
    declareServer(command, ['catalog', 'roots', 'slots', 'memoryBytes']);
  },
  async run(command, reply, signal) {
    const flags = command.opts<Flags>();
    const job: Errand = {
      reply,
      signal,
      mode: modeOf(flags),
      target: await targetOf(flags, rowsOf(flags.rows), reply.page !== null),
      request: await requestOf(command.args[0], flags, signal),
    };
    if (flags.server !== undefined) {
      refuseEmbeddedFlags(flags);
      return withClient(command, 'submit', signal, (client) => runQuery(client, job));
    }
    const workers = workersOf(flags.workers);
    const slots = Math.max(1, Math.floor(availableParallelism() / workers));
    const print = (line: string): void => reply.note(line);
    const isWatched = reply.terminal !== null;
    return withEmbedded(
      {
        ...{ command, modules: [], signal, isWatched, print, workers },
        ...(flags.slots === undefined ? { slots } : {}),
      },
      ({ client }) => runQuery(client, job),
    );
  },
};

interface Errand {
  readonly reply: Reply;
  readonly signal: AbortSignal;
  readonly mode: 'run' | 'explain' | 'analyze';
  readonly target: Target;
  readonly request: QueryRequest;
}

function modeOf({ explain, analyze }: Flags): Errand['mode'] {
  if (explain === true && analyze === true) {
    throw wrongUse('--explain does not run the query, --analyze does.', 'Use only one of them.');
  }
  if (explain === true) return 'explain';
  return analyze === true ? 'analyze' : 'run';
}

function rowsOf(text: string | undefined): number {
  return wholeOption('--rows', text) ?? ROWS;
}

function workersOf(text: string | undefined): number {
  const workers = wholeOption('--workers', text) ?? 1;
  if (workers >= 1 && workers <= WORKERS_MAX) return workers;
  throw wrongUse(
    `'${workers}' is not a valid value for --workers: use a number from 1 to ${WORKERS_MAX}.`,
    'Omit it to run with one worker.',
  );
}

function refuseEmbeddedFlags({ workers, catalog }: Flags): void {
  const flag = workers !== undefined ? '--workers' : catalog !== undefined ? '--catalog' : null;
  if (flag === null) return;
  const todo = 'Set it when starting the server; --table names a table for this query.';
  throw wrongUse(
    `${flag} applies to queries that run locally and cannot be combined with --server.`,
    todo,
  );
}

async function runQuery(client: HttpClient, errand: Errand): Promise<ExitCode> {
  const { queries } = client;
  const { request, reply, signal, mode } = errand;
  if (mode === 'explain') {
    const plan = await queries.explain(request, { signal });
    reply.say(plan.text.trimEnd());
    reply.answer(plan);
    return exit.done;
  }
  signal.throwIfAborted();
  const startedMs = performance.now();
  const ended = new AbortController();
  const submitting = queries.submit(request, { signal: ended.signal });
  const stop = (): void => {
    reply.note('Interrupted: cancelling the query. Press Ctrl-C again to exit immediately.');
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
    reply.note(`${written} in ${exactSpan(performance.now() - startedMs)}${distribution(query)}.`);
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
  reply.say(text.trimEnd());
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
  reply.note(`millrace: ${message}`);
  reply.answer({ id, state, error: error ?? { code: state, message } });
  return exit.workFailed;
}
