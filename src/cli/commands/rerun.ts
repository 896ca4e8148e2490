import type { JobId } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    'millrace rerun 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
    `millrace rerun "$(millrace jobs --state failed --limit 1 --json | node -p 'JSON.parse(fs.readFileSync(0)).jobs[0].id')"`,
  ],
  declare(command) {
    command.argument('<id>', 'a finished job; its tasks that did not succeed run again');
    declareServer(command);
  },
  run(command, reply, signal) {
    const id = (command.args[0] ?? '') as JobId;
    return withClient(command, 'submit', signal, async (client) => {
      const job = await client.rerun(id, { signal });
      reply.say(plain(`Job ${id} is ${job.state}, run ${job.run}.`));
      reply.answer(job);
      return exit.done;
    });
  },
};
