import { PRIORITIES, isFinished } from '../../scheduler/core/index.ts';
import type { Priority } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    'millrace priority 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 0',
    'millrace priority 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 3 --json',
  ],
  declare(command) {
    command
      .argument('<job>', 'the job')
      .argument('<priority>', '0 (urgent) to 3 (low), for all its tasks that have not ended');
    declareServer(command);
  },
  run(command, reply, signal) {
    const [id = '', word = ''] = command.args;
    const priority = priorityOf(word);
    return withClient(command, 'submit', signal, async (client) => {
      const job = await client.setPriority(id, priority, { signal });
      reply.say(plain(`Job ${id} ${outcomeOf(job.changed, job.state, priority)}`));
      reply.answer(job);
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
