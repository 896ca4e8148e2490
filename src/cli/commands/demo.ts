import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { version } from '../version.ts';

export const command: CommandModule = {
  examples: ['millrace demo', 'millrace demo --json'],
  declare() {},
  async run(_command, reply, signal) {
    reply.say(`Millrace ${version()}: durable task graphs.`);
    const { tell } = await import('../demo/story.ts');
    const result = await tell(reply, signal);
    const { tasks, succeeded, reassigned, events, epochs, answer } = result;
    reply.say('');
    reply.say(`${succeeded} of ${tasks} tasks succeeded, each with exactly one accepted result.`);
    reply.say(
      `${reassigned} were reassigned, ${epochs} leaders reigned, ${events} events, no gap.`,
    );
    reply.say(`The answer: ${answer}.`);
    reply.say('');
    reply.say(
      'All of this ran in one process; `millrace up` starts the real ones. SQL is not there yet.',
    );
    reply.answer({ version: version(), ...result });
    return result.isRight ? exit.done : exit.workFailed;
  },
};
