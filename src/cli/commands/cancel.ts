import { isFinished, type JobId } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    'millrace cancel 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
    'millrace cancel "$(millrace submit job.yaml)" --reason "wrong input"',
  ],
  declare(command) {
    command
      .argument('<id>', 'the job')
      .option('--reason <text>', 'the reason, recorded with the job');
    declareServer(command);
  },
  run(command, reply, signal) {
    const id = (command.args[0] ?? '') as JobId;
    const { reason } = command.opts<{ reason?: string }>();
    return withClient(command, 'submit', signal, async (client) => {
      const job = await client.cancel(id, reason, { signal });
      const isOver = isFinished(job.state);
      reply.say(plain(isOver ? `Job ${id} is ${job.state}.` : `Job ${id} is being cancelled.`));
      reply.answer(job);
      return exit.done;
    });
  },
};
