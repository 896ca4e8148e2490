import type { Command } from 'commander';
import type { HttpClient, JobsFilter, JobsPage } from '../../client/index.ts';
import { JOB_STATES } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { collected } from '../job-options.ts';
import { jobTable } from '../job-words.ts';
import {
  datedMatch,
  declareOrigins,
  declareTimes,
  jobsOption,
  type MatchFlags,
} from '../matching-jobs.ts';
import { defined } from '../../kit/index.ts';
import { declareServer, wholeOption, withClient, wrongUse } from '../server-call.ts';
import { withWords } from '../settings.ts';

const LIMIT = 20;
const PAGE_MAX = 1_000;

export const command: CommandModule = {
  examples: [
    'millrace jobs',
    'millrace jobs --state failed --limit 100',
    'millrace jobs --state failed --since 2h',
    'millrace jobs --since 2026-11-14T00:00:00Z --until 2026-11-15T00:00:00Z',
    'millrace jobs --label team=billing',
    'millrace jobs --waiting-for approval',
    'millrace jobs --schedule nightly --state failed',
    'millrace jobs --started-by event/order.created --since 1h',
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
      .option('--limit <count>', `how many, newest first (default ${LIMIT})`)
      .option('--cursor <cursor>', 'continue an earlier list');
    declareOrigins(command, 'only those');
    declareTimes(command, 'only those');
    declareServer(command);
  },
  async run(command, reply, signal) {
    const flags = command.opts<
      MatchFlags & { readonly limit?: string; readonly cursor?: string }
    >();
    const match: JobsFilter = {
      signal,
      ...jobsOption(flags),
      ...defined({ cursor: flags.cursor }),
    };
    const limit = Math.max(1, wholeOption('--limit', flags.limit) ?? LIMIT);
    return withClient(command, 'read', signal, async (client) => {
      const filter = await datedMatch(client, match, signal);
      const page = await firstJobs(client, filter, limit);
      if (page.jobs.length === 0) reply.say('No jobs found.');
      else for (const line of jobTable(page.jobs, page.asOf.at)) reply.say(line);
      if (page.cursor !== null) reply.say(`There are more: --limit ${limit * 10}`);
      reply.answer(page);
      return exit.done;
    });
  },
};

/** As many as were asked for, on however many pages. */
async function firstJobs(client: HttpClient, filter: JobsFilter, limit: number): Promise<JobsPage> {
  const jobs: JobsPage['jobs'][number][] = [];
  let from = filter;
  for (;;) {
    const size = Math.min(PAGE_MAX, limit - jobs.length);
    const { value: page } = await client.jobPages({ ...from, limit: size }).next();
    if (page === undefined) throw wrongUse('The list has no such page.', 'Ask again.');
    jobs.push(...page.jobs);
    if (page.cursor === null || jobs.length >= limit) return { ...page, jobs };
    from = { ...filter, cursor: page.cursor };
  }
}
