import type { Command } from 'commander';
import type { HttpClient, JobsFilter, JobsPage } from '../../client/index.ts';
import { JOB_STATES } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { collected, labelOption } from '../job-options.ts';
import { jobTable } from '../job-words.ts';
import { stateOption } from '../matching-jobs.ts';
import { parseDuration } from '../../kit/index.ts';
import { declareServer, wholeOption, withClient, wrongUse } from '../server-call.ts';
import { withWords } from '../settings.ts';

const LIMIT = 20;
const PAGE_MAX = 1_000;

export const command: CommandModule = {
  examples: [
    'millrace jobs',
    'millrace jobs --state failed --limit 100',
    'millrace jobs --state failed --since 2h',
    'millrace jobs --label team=billing',
    'millrace jobs --waiting-for approval',
    'millrace jobs --json',
  ],
  declare(command: Command) {
    command
      .addOption(withWords('--state <state>', 'only those in this state', JOB_STATES))
      .option('--name <name>', 'only those with this name')
      .option('--label <key=value>', 'only those with this label; repeat it for several', collected)
      .option(
        '--waiting-for <signal>',
        "only those with a task that waits for this signal; '*' for any signal",
      )
      .option('--since <time>', 'only those created since: 2h, or 2026-11-15T02:00:00Z')
      .option('--limit <count>', `how many, newest first (default ${LIMIT})`)
      .option('--cursor <cursor>', 'continue an earlier list');
    declareServer(command);
  },
  async run(command, reply, signal) {
    const { label, ...options } = command.opts<
      { readonly label?: readonly string[] } & Readonly<Record<string, string | undefined>>
    >();
    const { name, cursor } = options as Readonly<Record<string, string | undefined>>;
    const { state, waitingFor } = options;
    const filter: JobsFilter = {
      signal,
      ...(state === undefined ? {} : { state: stateOption(state) }),
      ...(name === undefined ? {} : { name }),
      ...(label === undefined ? {} : { labels: labelOption(label) }),
      ...(waitingFor === undefined ? {} : { waitingFor }),
      ...(cursor === undefined ? {} : { cursor }),
    };
    const since = sinceOption(options['since']);
    const limit = Math.max(1, wholeOption('--limit', options['limit']) ?? LIMIT);
    return withClient(command, 'read', signal, async (client) => {
      const page = await firstJobs(client, filter, { limit, since });
      if (page.jobs.length === 0) reply.say('No jobs found.');
      else for (const line of jobTable(page.jobs, page.asOf.at)) reply.say(line);
      if (page.cursor !== null) reply.say(`There are more: --limit ${limit * 10}`);
      reply.answer(page);
      return exit.done;
    });
  },
};

interface Wanted {
  readonly limit: number;
  /** The first moment that counts, as seen from the time of the answer. */
  readonly since: (asOf: string) => number;
}

/** As many as were asked for, on however many pages. */
async function firstJobs(
  client: HttpClient,
  filter: JobsFilter,
  { limit, since }: Wanted,
): Promise<JobsPage> {
  const jobs: JobsPage['jobs'][number][] = [];
  let from = filter;
  for (;;) {
    const size = Math.min(PAGE_MAX, limit - jobs.length);
    const { value: page } = await client.jobPages({ ...from, limit: size }).next();
    if (page === undefined) throw wrongUse('The list has no such page.', 'Ask again.');
    const firstMs = since(page.asOf.at);
    const recent = page.jobs.filter(({ createdAt }) => Date.parse(createdAt) >= firstMs);
    jobs.push(...recent);
    // The newest come first.
    if (recent.length < page.jobs.length) return { ...page, jobs, cursor: null };
    if (page.cursor === null || jobs.length >= limit) return { ...page, jobs };
    from = { ...filter, cursor: page.cursor };
  }
}

/** A duration counts back from the time of the answer, by the server's clock. */
function sinceOption(text: string | undefined): Wanted['since'] {
  if (text === undefined) return () => -Infinity;
  const ms = parseDuration(text);
  if (ms !== null && ms >= 0) return (asOf) => Date.parse(asOf) - ms;
  const atMs = Date.parse(text);
  if (!Number.isNaN(atMs)) return () => atMs;
  throw wrongUse(`'${text}' is not a valid time.`, 'Write --since 2h, or 2026-11-15T02:00:00Z.');
}
