import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { isMillraceError, MillraceError } from '../../scheduler/core/index.ts';
import type { CommandModule, Reply } from '../command.ts';
import { withEmbedded } from '../embedded.ts';
import { exit, type ExitCode } from '../exit.ts';
import { declareServer, wholeOption, withClient, wrongUse } from '../server-call.ts';
import { withWords } from '../settings.ts';
import { FORMATS, targetOf } from '../sql/output.ts';
import {
  isShell,
  noStatement,
  optionsOf,
  requestOf,
  type SqlFlags,
  withNamedFiles,
} from '../sql/request.ts';
import { type Errand, runQuery } from '../sql/run-query.ts';
import { historyFile } from '../sql/shell/history.ts';
import { Shell } from '../sql/shell/shell.ts';

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
    'millrace sql "select item, count(*) from \'data/*.parquet\' group by item"',
    'millrace sql --server http://127.0.0.1:7070',
    "millrace sql 'select item, sum(amount) from sales group by item' --table 'sales=data/*.parquet'",
    'millrace sql --file report.sql --catalog tables.yaml --param since=2026-11-01 --format csv',
    "millrace sql 'from sales' --table 'sales=data/*.csv' --output sales.parquet",
    "millrace sql 'select count(*) from sales' --table 'sales=data/*.parquet' --workers 2 --analyze",
  ],
  declare(command: Command) {
    command
      .argument(
        '[query]',
        'a SELECT, EXPLAIN, DESCRIBE, SHOW TABLES or SUMMARIZE in DuckDB SQL; - reads it from stdin; without it, a shell',
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
    const [query] = command.args;
    const errand = {
      ...{ reply, signal, mode: modeOf(flags) },
      target: await targetOf(flags, rowsOf(flags.rows), reply.page !== null),
    };
    const { input } = reply;
    const work =
      input === null || !isShell(query, flags)
        ? oneQuery({ ...errand, request: await requestOf(query, flags, signal) })
        : manyQueries({ ...errand, request: optionsOf(shellFlags(flags)) }, input());
    if (flags.server !== undefined) {
      refuseEmbeddedFlags(flags);
      return withClient(command, 'submit', signal, (client) =>
        work((each) => runQuery(client, each).catch((error: unknown) => throwHinted(error))),
      );
    }
    const workers = workersOf(flags.workers);
    const slots = Math.max(1, Math.floor(availableParallelism() / workers));
    const print = (line: string): void => reply.note(line);
    const isWatched = reply.terminal !== null;
    if (isWatched && isShell(query, flags)) reply.note('Starting an embedded node ...');
    return withEmbedded(
      {
        ...{ command, modules: [], signal, isWatched, print, workers },
        ...(flags.slots === undefined ? { slots } : {}),
      },
      ({ client }) =>
        work((each) => runQuery(client, { ...each, request: withNamedFiles(each.request) })),
    );
  },
};

/** What is done at the server, local or not, with the way to run a query there. */
type Work = (run: (errand: Errand) => Promise<ExitCode>) => Promise<ExitCode>;

function oneQuery(errand: Errand): Work {
  return (run) => run(errand);
}

function manyQueries(
  errand: Omit<Errand, 'request'> & { readonly request: Omit<Errand['request'], 'sql'> },
  input: ReturnType<NonNullable<Reply['input']>>,
): Work {
  return async (run) => {
    const { reply, signal, target, request } = errand;
    const shell = new Shell({
      ...{ input, reply, signal },
      terminal: input.isTTY === true ? (reply.page ?? reply.terminal) : null,
      history: historyFile(process.env),
      run: (sql, { isTimed, isExpanded }, cancelled) =>
        run({
          ...errand,
          request: { ...request, sql },
          target: { ...target, isExpanded },
          isTimed,
          signal: cancelled,
          interrupted: 'Cancelling the query.',
        }),
    });
    const code = await shell.run();
    if (shell.ran === 0 && code === exit.done && input.isTTY !== true) throw noStatement();
    return code;
  };
}

/** Each statement would overwrite the file of the one before. */
function shellFlags(flags: Flags): Flags {
  if (flags.output === undefined) return flags;
  throw wrongUse('--output needs a query.', 'Give the query on the command line or with --file.');
}

/** A server does not open files by name; who wrote FROM 'file' wants to know how to read it. */
function throwHinted(error: unknown): never {
  if (!isMillraceError(error, 'path_refused')) throw error;
  const { code, what, path } = error;
  throw new MillraceError({
    ...{ code, what, cause: error },
    todo: "Here: --table 'NAME=/path/on/the/server/*.parquet' and FROM NAME; or omit --server to read files of this machine.",
    ...(path === undefined ? {} : { path }),
  });
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
