import { PRIORITIES, isFinished } from '../../scheduler/core/index.ts';
import type { Priority } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareMatch, isMatch, type MatchFlags, onOneOrAll } from '../matching-jobs.ts';
import { declareServer, wrongUse } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    'millrace priority 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 0',
    'millrace priority 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 3 --json',
    'millrace priority 0 --state queued --label tenant=acme',
  ],
  declare(command) {
    command
      .argument('[job]', 'the job; leave it out with a filter')
      .argument('[priority]', '0 (urgent) to 3 (low), for all its tasks that have not ended');
    declareMatch(command);
    declareServer(command);
  },
  run(command, reply, signal) {
    const { args } = command;
    const isAll = isMatch(command.opts<MatchFlags>());
    const [id, word = ''] = isAll && args.length < 2 ? [undefined, ...args] : args;
    const priority = priorityOf(word);
    const about = { command, action: 'priority', id, reply, signal, more: { priority } } as const;
    return onOneOrAll(about, async (client, job) => {
      const set = await client.setPriority(job, priority, { signal });
      reply.say(plain(`Job ${job} ${outcomeOf(set.changed, set.state, priority)}`));
      reply.answer(set);
      return exit.done;
    });
  },
};

function outcomeOf(changed: boolean, state: string, priority: Priority): string {
  if (changed) return `has priority ${priority} now. What runs goes on.`;
  return isFinished(state as 'queued')
    ? `is ${state}: its priority does not change any more.`
    : `is not changed: it has priority ${priority}, or is being cancelled.`;
}

function priorityOf(word: string): Priority {
  const priority = PRIORITIES.find((each) => String(each) === word);
  if (priority !== undefined) return priority;
  throw wrongUse(`'${word}' is not a valid priority.`, 'Use 0 (urgent) to 3 (low).');
}
