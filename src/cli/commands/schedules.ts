import type { Command } from 'commander';
import type { Backfill, HttpClient } from '../../client/index.ts';
import { didYouMean, type ScheduleId } from '../../scheduler/core/index.ts';
import type { CommandModule, Reply } from '../command.ts';
import { exit, type ExitCode } from '../exit.ts';
import { withPlaces } from '../files/checked-document.ts';
import { declareTiming, readSchedule, type ScheduleWork } from '../files/schedule-file.ts';
import { scheduleLines } from '../schedule-words.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';
import { configFor, withChoices } from '../settings.ts';
import { plain } from '../table.ts';
import { counted } from '../wording.ts';

const ACTIONS = [
  'list',
  'create',
  'put',
  'delete',
  'pause',
  'resume',
  'trigger',
  'backfill',
] as const;
type Action = (typeof ACTIONS)[number];

export const command: CommandModule = {
  examples: [
    'millrace schedules',
    `millrace schedules create nightly job.yaml --cron '0 2 * * 1-5' --zone Europe/Berlin`,
    `millrace schedules create hourly flow.ts --every 1h --input '{"shop": "north"}' --overlap queue`,
    `millrace schedules create weekly --flow report --cron '0 6 * * 1' --input '{"shop": "north"}'`,
    `echo '{"timing": {"everyMs": 60000}, "document": {"tasks": [{"id": "a", "executor": "echo"}]}}' | millrace schedules create minutely -`,
    'millrace schedules create trial --flow remind --every 1d --max-runs 14 --end-at 2027-01-31T00:00:00Z',
    'millrace schedules pause minutely',
    'millrace schedules delete minutely',
    'millrace schedules backfill nightly --from 2026-11-01T00:00:00Z --to 2026-11-08T00:00:00Z',
  ],
  declare(command: Command) {
    command
      .addArgument(withChoices('[action]', 'the action', ACTIONS).default('list'))
      .argument('[id]', 'the schedule')
      .argument(
        '[file]',
        'for create: a job document or a module with a flow; without a timing flag, a complete schedule document; - reads stdin',
      );
    declareTiming(command);
    command
      .option('--from <time>', 'for backfill: the first time, 2026-11-01T00:00:00Z')
      .option('--to <time>', 'for backfill: the last time (default now)');
    declareServer(command);
  },
  async run(command, reply, signal) {
    const [word = 'list', id = '', file = ''] = command.args;
    const action = actionOf(word);
    if (action !== 'list' && id === '')
      throw wrongUse(
        `The command schedules ${action} needs a schedule id.`,
        'Give the id of the schedule.',
      );
    const isMade = action === 'put' || action === 'create';
    const settings = configFor(command, process.env).core;
    const work = isMade ? await readSchedule(file, command.opts(), settings, signal) : null;
    const needed = action === 'list' ? 'read' : 'submit';
    return withClient(command, needed, signal, (client) =>
      act({
        ...{ client, action, id: id as ScheduleId, work, reply, signal },
        times: command.opts<Times>(),
      }),
    );
  },
};

interface Times {
  readonly at?: string;
  readonly from?: string;
  readonly to?: string;
}

interface Act {
  readonly times: Times;
  readonly client: HttpClient;
  readonly action: Action;
  readonly id: ScheduleId;
  readonly work: ScheduleWork | null;
  readonly reply: Reply;
  readonly signal: AbortSignal;
}

async function act({ client, action, id, work, reply, signal, times }: Act): Promise<ExitCode> {
  const tell = (sentence: string, answer: unknown): ExitCode => {
    reply.say(plain(sentence));
    reply.answer(answer);
    return exit.done;
  };
  const next = (at: string | null): string =>
    at === null ? `Schedule ${id} has no further runs.` : `Schedule ${id} runs next at ${at}.`;
  switch (action) {
    case 'list': {
      const answer = await client.listSchedules({ signal });
      const lines = scheduleLines(answer.schedules);
      for (const line of lines) reply.say(line);
      reply.answer(answer);
      return exit.done;
    }
    case 'create':
    case 'put': {
      const located = work ?? { spec: null, located: (error: unknown) => error };
      const made = await withPlaces(located, () =>
        client.putSchedule(id, located.spec, { signal }),
      );
      return tell(next(made.nextAt), made);
    }
    case 'delete':
      await client.deleteSchedule(id, { signal });
      return tell(`Schedule ${id} was deleted; jobs it has started keep running.`, {
        id,
        deleted: true,
      });
    case 'pause':
      return tell(`Schedule ${id} is paused.`, await client.changeSchedule(id, action, { signal }));
    case 'resume': {
      const changed = await client.changeSchedule(id, action, { signal });
      return tell(next(changed.nextAt), changed);
    }
    case 'backfill': {
      const { from, to } = times;
      if (from === undefined)
        throw wrongUse('The command schedules backfill needs --from.', 'Give the first time.');
      const range = { from, ...(to === undefined ? {} : { to }) };
      const made = await client.changeSchedule<Backfill>(id, action, { signal }, range);
      const before = made.jobs.length - made.started;
      return tell(
        `Schedule ${id} has started ${counted(made.started, 'job')}${before === 0 ? '' : `; ${before} were started before`}.`,
        made,
      );
    }
    case 'trigger': {
      const { at } = times;
      const body = at === undefined ? undefined : { at };
      const changed = await client.changeSchedule(id, action, { signal }, body);
      return tell(`Schedule ${id} has started job ${changed.lastJob ?? '-'}.`, changed);
    }
  }
}

function actionOf(word: string): Action {
  const action = ACTIONS.find((each) => each === word);
  if (action !== undefined) return action;
  throw wrongUse(
    `'${word}' is not a valid schedule action.${didYouMean(word, ACTIONS)}`,
    `Use ${ACTIONS.join(', ')}.`,
  );
}
