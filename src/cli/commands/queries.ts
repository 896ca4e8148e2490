import type { Command } from 'commander';
import { JOB_STATES, type JobId, type JobState } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, wholeOption, withClient, wrongUse } from '../server-call.ts';
import { withWords } from '../settings.ts';
import { facts, plain, table } from '../table.ts';
import { bytesWords, countWords, errorWords, shortened, span, took, when } from '../wording.ts';
import type { ListOptions, QueryCalls, QueryPage } from '../../client/index.ts';
import type { QueryShape } from '../../scheduler/contract/index.ts';

const LIMIT = 20;
const PAGE_MAX = 1_000;
const SQL_COLUMNS = 60;

export const command: CommandModule = {
  examples: [
    'millrace queries',
    'millrace queries --state running --json',
    'millrace queries 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
  ],
  declare(command: Command) {
    command
      .argument('[query]', 'show this one, with its stages')
      .addOption(withWords('--state <state>', 'only those in this state', JOB_STATES))
      .option('--limit <count>', `how many, newest first (default ${LIMIT})`)
      .option('--cursor <cursor>', 'continue an earlier list');
    declareServer(command);
  },
  async run(command, reply, signal) {
    const [id] = command.args;
    const options = command.opts<Readonly<Record<string, string | undefined>>>();
    const state = stateOption(options['state']);
    const limit = Math.max(1, wholeOption('--limit', options['limit']) ?? LIMIT);
    const { cursor } = options;
    return withClient(command, 'read', signal, async ({ queries }) => {
      if (id !== undefined) {
        const query = await queries.get(id as JobId, { signal });
        for (const line of queryLines(query)) reply.say(line);
        reply.answer(query);
        return exit.done;
      }
      const page = await firstQueries(queries, limit, {
        signal,
        ...(state === undefined ? {} : { state }),
        ...(cursor === undefined ? {} : { cursor }),
      });
      if (page.queries.length === 0) reply.say('No queries found.');
      else for (const line of listLines(page)) reply.say(line);
      if (page.cursor !== null) reply.say(`There are more: --cursor ${page.cursor}`);
      reply.answer(page);
      return exit.done;
    });
  },
};

/** As many as were asked for: a page has fewer where other jobs lie between queries. */
async function firstQueries(
  calls: QueryCalls,
  limit: number,
  filter: ListOptions,
): Promise<QueryPage> {
  const queries: QueryPage['queries'][number][] = [];
  let from = filter;
  for (;;) {
    const page = await calls.list({ ...from, limit: Math.min(PAGE_MAX, limit - queries.length) });
    queries.push(...page.queries);
    if (page.cursor === null || queries.length >= limit) return { ...page, queries };
    from = { ...filter, cursor: page.cursor };
  }
}

function listLines({ queries, asOf }: QueryPage): string[] {
  return table(
    ['QUERY', 'STATE', 'SUBMITTED', 'TOOK', 'SQL'],
    queries.map(({ id, state, submittedAt, startedAt, finishedAt, name }) => [
      ...[id, state, when(submittedAt, asOf.at), took(startedAt, finishedAt, asOf.at)],
      // Without a name of its own a query is called after its text.
      shortened(
        name
          .replace(/^sql: /, '')
          .replaceAll(/\s+/g, ' ')
          .trim(),
        SQL_COLUMNS,
      ),
    ]),
  );
}

function queryLines(query: QueryShape): string[] {
  const { id, state, error, single, waiting, submittedAt, startedAt, finishedAt } = query;
  const about = facts([
    ['query', id],
    ['state', state],
    ['error', errorWords(error)],
    ['waits', waiting?.why.replace(/^waits /, '') ?? null],
    ['runs whole', single],
    ['submitted', submittedAt],
    ['took', tookBetween(startedAt, finishedAt)],
    ['rows kept until', query.expiresAt],
  ]);
  const stages = table(
    ['STAGE', 'TITLE', 'STATE', 'TASKS', 'ROWS', 'BYTES', 'TOOK'],
    query.stages.map((stage) => [
      ...[stage.id, stage.title, stage.state, `${stage.tasks.succeeded}/${stage.tasks.total}`],
      ...[countWords(stage.rowsOut), bytesWords(stage.bytesOut)],
      stage.elapsedMs === null ? null : span(stage.elapsedMs),
    ]),
  );
  return [...about, '', ...query.sql.trim().split('\n').map(plain), '', ...stages];
}

function tookBetween(from: string | null, to: string | null): string | null {
  return from === null || to === null ? null : span(Date.parse(to) - Date.parse(from));
}

function stateOption(text: string | undefined): JobState | undefined {
  if (text === undefined) return undefined;
  const state = JOB_STATES.find((each) => each === text);
  if (state !== undefined) return state;
  throw wrongUse(`'${text}' is not a valid query state.`, `Use ${JOB_STATES.join(', ')}.`);
}
