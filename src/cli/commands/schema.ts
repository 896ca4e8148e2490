import { jobSchema } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';

export const command: CommandModule = {
  examples: ['millrace schema > job.schema.json', 'millrace schema --json'],
  declare() {},
  run(command, reply) {
    const { json = false } = command.opts<{ json?: true }>();
    if (json) reply.answer(jobSchema);
    else reply.say(JSON.stringify(jobSchema, null, 2));
    return Promise.resolve(exit.done);
  },
};
