import type { QueueName } from '../../client/index.ts';
import type { CountedQueue } from '../../scheduler/contract/index.ts';
import { didYouMean } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';
import { withChoices } from '../settings.ts';
import { plain, table } from '../table.ts';

const ACTIONS = ['list', 'pause', 'resume'] as const;
type Action = (typeof ACTIONS)[number];

interface Options {
  readonly key?: string;
  readonly reason?: string;
}

export const command: CommandModule = {
  examples: [
    'millrace queues',
    `millrace queues pause charge --reason 'the bank is down'`,
    'millrace queues pause --key tenant:acme',
    'millrace queues resume charge',
  ],
  declare(command) {
    command
      .addArgument(withChoices('[action]', 'the action', ACTIONS).default('list'))
      .argument('[executor]', 'the tasks of this executor: the name of a task, or http, sql, ...')
      .option('--key <key>', 'the tasks with a limit or a concurrency of this key, instead')
      .option('--reason <text>', 'for pause: shown to everybody who asks why a task waits');
    declareServer(command);
  },
  run(command, reply, signal) {
    const [word = 'list', executor] = command.args;
    const action = actionOf(word);
    const { key, reason } = command.opts<Options>();
    if (action === 'list') {
      return withClient(command, 'read', signal, async (client) => {
        const queues = await client.queues.list({ signal });
        for (const line of queueLines(queues)) reply.say(line);
        reply.answer({ queues });
        return exit.done;
      });
    }
    const queue = queueOf(action, executor, key);
    const name = 'key' in queue ? `The key ${queue.key}` : `The executor ${queue.executor}`;
    return withClient(command, 'admin', signal, async (client) => {
      const options = reason === undefined ? { signal } : { signal, reason };
      const changed =
        action === 'pause'
          ? await client.queues.pause(queue, options)
          : await client.queues.resume(queue, { signal });
      reply.say(plain(`${name} ${OUTCOMES[action][changed.changed ? 'changed' : 'same']}`));
      if (action === 'pause' && 'executor' in queue) {
        const { nodes } = await client.listNodes({ executor: queue.executor, signal });
        if (nodes.length === 0) reply.say(plain(`No node offers ${queue.executor} at the moment.`));
      }
      reply.answer(changed);
      return exit.done;
    });
  },
};

const OUTCOMES = {
  pause: {
    changed: 'is paused: no more of its tasks start. Those that run go on.',
    same: 'was paused already.',
  },
  resume: { changed: 'is resumed.', same: 'was not paused.' },
} as const;

function queueOf(action: Action, executor: string | undefined, key: string | undefined): QueueName {
  if ((executor === undefined) === (key === undefined)) {
    throw wrongUse(
      `The command queues ${action} needs an executor or a key.`,
      `Write \`millrace queues ${action} EXECUTOR\` or \`millrace queues ${action} --key KEY\`.`,
    );
  }
  return executor === undefined ? { key: key ?? '' } : { executor };
}

function queueLines(queues: readonly CountedQueue[]): string[] {
  if (queues.length === 0) return ['No task is waiting or running, and no queue is paused.'];
  const rows = queues.map(({ executor, key, ready, running, paused }) => [
    executor ?? key ?? '',
    executor === null ? 'key' : 'executor',
    ready,
    running,
    paused === null ? null : `since ${paused.since}`,
    paused?.reason ?? null,
  ]);
  return table(['QUEUE', 'KIND', 'READY', 'RUNNING', 'PAUSED', 'REASON'], rows);
}

function actionOf(word: string): Action {
  const action = ACTIONS.find((each) => each === word);
  if (action !== undefined) return action;
  throw wrongUse(
    `'${word}' is not a valid queue action.${didYouMean(word, ACTIONS)}`,
    `Use ${ACTIONS.join(', ')}.`,
  );
}
