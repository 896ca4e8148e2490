import type { Command } from 'commander';
import type { HttpClient } from '../../client/index.ts';
import { didYouMean, type ScheduleId } from '../../core/index.ts';
import type { ScheduleShape } from '../../protocol/index.ts';
import type { CommandModule, Reply } from '../command.ts';
import { readDocuments } from '../document-file.ts';
import { exit, type ExitCode } from '../exit.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';
import { plain, table } from '../table.ts';
import { shortened, span } from '../wording.ts';

const ACTIONS = ['list', 'put', 'delete', 'pause', 'resume', 'trigger'] as const;
type Action = (typeof ACTIONS)[number];

export const command: CommandModule = {
  examples: [
    'millrace schedules',
    `echo '{"timing": {"everyMs": 60000}, "document": {"tasks": [{"id": "a", "executor": "echo"}]}}' | millrace schedules put minutely -`,
    'millrace schedules pause minutely',
    'millrace schedules delete minutely',
  ],
  declare(command: Command) {
    command
      .argument('[action]', ACTIONS.join(', '), 'list')
      .argument('[id]', 'the schedule')
      .argument('[file]', 'for put: its timing and job document, JSON or YAML; - reads stdin');
    declareServer(command);
  },
  async run(command, reply, signal) {
    const [word = 'list', id = '', file = ''] = command.args;
    const action = actionOf(word);
    if (action !== 'list' && id === '') throw wrongUse(`${action} which schedule?`, 'Name its id.');
    const spec = action === 'put' ? await specIn(file, signal) : undefined;
    const needed = action === 'list' ? 'read' : 'submit';
    return withClient(command, needed, signal, (client) =>
      act(client, action, id as ScheduleId, spec, reply, signal),
    );
  },
};

async function act(
  client: HttpClient,
  action: Action,
  id: ScheduleId,
  spec: unknown,
  reply: Reply,
  signal: AbortSignal,
): Promise<ExitCode> {
  const tell = (sentence: string, answer: unknown): ExitCode => {
    reply.say(plain(sentence));
    reply.answer(answer);
    return exit.done;
  };
  switch (action) {
    case 'list': {
      const answer = await client.schedules({ signal });
      const lines = scheduleTable(answer.schedules);
      if (answer.schedules.length === 0) lines.splice(0, 1, 'There are no schedules.');
      for (const line of lines) reply.say(line);
      reply.answer(answer);
      return exit.done;
    }
    case 'put': {
      const made = await client.putSchedule(id, spec, { signal });
      return tell(`Schedule ${id} runs next at ${made.nextAt ?? 'no time any more'}.`, made);
    }
    case 'delete':
      await client.deleteSchedule(id, { signal });
      return tell(`Schedule ${id} is gone; jobs that it started go on.`, { id, deleted: true });
    case 'pause':
      return tell(`Schedule ${id} is paused.`, await client.changeSchedule(id, action, { signal }));
    case 'resume': {
      const changed = await client.changeSchedule(id, action, { signal });
      return tell(`Schedule ${id} runs next at ${changed.nextAt ?? 'no time any more'}.`, changed);
    }
    case 'trigger': {
      const changed = await client.changeSchedule(id, action, { signal });
      return tell(`Schedule ${id} has started job ${changed.lastJob ?? '-'}.`, changed);
    }
  }
}

function actionOf(word: string): Action {
  const action = ACTIONS.find((each) => each === word);
  if (action !== undefined) return action;
  throw wrongUse(
    `There is no way to ${word} a schedule.${didYouMean(word, ACTIONS)}`,
    `Use ${ACTIONS.join(', ')}.`,
  );
}

async function specIn(file: string, signal: AbortSignal): Promise<unknown> {
  if (file === '') throw wrongUse('put takes a file.', 'Name it after the id, or - for stdin.');
  const [spec, surplus] = await readDocuments(file, signal);
  if (surplus !== undefined) throw wrongUse(`${file} holds several.`, 'Put them one by one.');
  return spec;
}

function scheduleTable(schedules: readonly ScheduleShape[]): string[] {
  return table(
    ['SCHEDULE', 'TIMING', 'STATE', 'NEXT', 'LAST', 'LAST JOB'],
    schedules.map(({ id, spec, paused, nextAt, lastAt, lastJob }) => [
      id,
      timingOf(spec),
      paused ? 'paused' : nextAt === null ? 'over' : 'active',
      nextAt,
      lastAt,
      lastJob,
    ]),
  );
}

function timingOf(spec: unknown): string {
  const timing = (spec as { readonly timing?: Readonly<Record<string, unknown>> } | null)?.timing;
  if (timing === undefined) return '-';
  const { cron, zone, everyMs, at } = timing;
  if (typeof cron === 'string') return typeof zone === 'string' ? `${cron} ${zone}` : cron;
  if (typeof everyMs === 'number') return `every ${span(everyMs)}`;
  return at === undefined ? shortened(JSON.stringify(timing), 40) : 'once';
}
