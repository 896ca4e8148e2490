import type { SentJob } from '../../client/index.ts';
import type { CommandModule } from '../command.ts';
import { exit, exitCodeOf } from '../exit.ts';
import { jsonArgument, readInput } from '../files/work-file.ts';
import { collected, labelOption } from '../job-options.ts';
import { declareServer, withClient } from '../server-call.ts';
import { plain, table } from '../table.ts';

interface SendFlags {
  readonly data?: string;
  readonly id?: string;
  readonly label?: readonly string[];
}

export const command: CommandModule = {
  examples: [
    'millrace send order.created --data \'{"id": "A-7", "cents": 1999}\' --id evt_1',
    'millrace send catalogue.changed',
    'millrace send order.created --data @order.json --label region=north --json',
  ],
  declare(command) {
    command
      .argument('<event>', 'the name of the event; `millrace flows` shows which flows it starts')
      .option('--data <json>', 'what the event says: the input of each flow; @file reads a file')
      .option('--id <id>', 'idempotency key: the same id again starts and wakes nothing new')
      .option('--label <key=value>', 'a label of each job; repeat it for several', collected);
    declareServer(command);
  },
  async run(command, reply, signal) {
    const [event = ''] = command.args;
    const { data: text, id, label } = command.opts<SendFlags>();
    const data =
      text === undefined || text.startsWith('@')
        ? await readInput(text, signal)
        : jsonArgument('--data', text);
    return withClient(command, 'submit', signal, async (client) => {
      const sent = await client.sendEvent(event, data, {
        signal,
        ...(id === undefined ? {} : { id }),
        ...(label === undefined ? {} : { labels: labelOption(label) }),
      });
      if (sent.note !== undefined) reply.say(plain(sent.note));
      if (sent.jobs.length > 0) for (const line of jobTable(sent.jobs)) reply.say(line);
      for (const { job, task } of sent.woken) reply.say(`woken      ${job}/${task}`);
      for (const job of sent.cancelled) reply.say(`cancelled  ${job}`);
      if (sent.unlisted !== undefined) reply.say(`and ${sent.unlisted} more`);
      reply.answer({
        ...sent,
        jobs: sent.jobs.map((job) =>
          job.error === undefined
            ? job
            : { flow: job.flow, error: { code: job.error.code, detail: job.error.message } },
        ),
      });
      const [refused] = sent.jobs.flatMap(({ error }) => (error === undefined ? [] : [error]));
      return refused === undefined ? exit.done : exitCodeOf(refused);
    });
  },
};

function jobTable(jobs: readonly SentJob[]): string[] {
  return table(
    ['FLOW', 'JOB', 'STATE'],
    jobs.map((job) =>
      job.error === undefined
        ? [job.flow, job.id, `${job.state}${beforeWords(job)}`]
        : [job.flow, '-', `not started: ${job.error.message}`],
    ),
  );
}

function beforeWords({ isNew, because }: Extract<SentJob, { readonly isNew: boolean }>): string {
  if (isNew) return '';
  return because === 'singleton' ? ', not started: singleton' : ', started before';
}
