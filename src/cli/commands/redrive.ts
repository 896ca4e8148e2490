import type { JobId } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    'millrace redrive 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 charge',
    'millrace redrive 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77/charge',
  ],
  declare(command) {
    command
      .argument('<id>', 'the job, or JOB/TASK')
      .argument('[task]', 'a task that is out of attempts (failed with code dead)');
    declareServer(command);
  },
  run(command, reply, signal) {
    const [given = '', named] = command.args;
    const slash = given.indexOf('/');
    const id = (slash < 0 ? given : given.slice(0, slash)) as JobId;
    const task = named ?? (slash < 0 ? undefined : given.slice(slash + 1));
    if (task === undefined || task === '') {
      throw wrongUse(
        'redrive needs a task.',
        `Write \`millrace redrive ${id} TASK\`; \`millrace job ${id}\` lists the tasks.`,
      );
    }
    return withClient(command, 'submit', signal, async (client) => {
      // Only a dead task is given new attempts, and the answer does not say whether it was one.
      const before = (await client.job(id, { signal })).tasks.find((each) => each.id === task);
      const job = await client.redrive(id, task, { signal });
      const isDead = before?.state === 'failed' && before.error?.code === 'dead';
      const outcome = isDead ? 'runs again' : `was not dead: it is ${before?.state ?? 'unknown'}`;
      reply.say(plain(`Task ${task} of job ${id} ${outcome}.`));
      reply.answer(job);
      return exit.done;
    });
  },
};
