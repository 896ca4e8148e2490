import { type JobId, MillraceError } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import {
  declareFollow,
  type FollowFlags,
  followFrom,
  followToEnd,
  isFollowed,
  refuseFollow,
} from '../following.ts';
import { actOnAll, declareMatch, matchOption, type MatchFlags } from '../matching-jobs.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    'millrace redrive 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 charge',
    'millrace redrive 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77/charge --follow',
    'millrace redrive --state failed --label tenant=acme',
  ],
  declare(command) {
    command
      .argument('[id]', 'the job, or JOB/TASK')
      .argument('[task]', 'a task that is out of attempts (failed with code dead)');
    declareFollow(command);
    declareMatch(command);
    declareServer(command);
  },
  run(command, reply, signal) {
    const [given, named] = command.args;
    const flags = command.opts<FollowFlags & MatchFlags>();
    const match = matchOption('redrive', given, flags);
    if (match !== null) {
      refuseFollow(flags);
      return withClient(command, 'submit', signal, (client) =>
        actOnAll(client, 'redrive', match, { reply, signal }),
      );
    }
    const { id, task } = taskOf(given ?? '', named);
    return withClient(command, 'submit', signal, async (client) => {
      // Only a dead task is given new attempts, and the answer does not say whether it was one.
      const before = (await client.job(id, { signal })).tasks.find((each) => each.id === task);
      if (before === undefined) {
        const what = `Job ${id} has no task ${task}.`;
        throw new MillraceError({ code: 'not_found', what });
      }
      const after = isFollowed(flags) ? await followFrom(client, signal) : null;
      const job = await client.redrive(id, task, { signal });
      const isDead = before.state === 'failed' && before.error?.code === 'dead';
      const outcome = isDead ? 'runs again' : `was not dead: it is ${before.state}`;
      reply.say(plain(`Task ${task} of job ${id} ${outcome}.`));
      if (after !== null) {
        const isJson = flags.json === true;
        return followToEnd(client, { id, after, reply, isJson, signal });
      }
      reply.answer(job);
      return exit.done;
    });
  },
};

function taskOf(given: string, named: string | undefined): { id: JobId; task: string } {
  const slash = given.indexOf('/');
  const id = slash < 0 ? given : given.slice(0, slash);
  const task = named ?? (slash < 0 ? '' : given.slice(slash + 1));
  if (task !== '') return { id: id as JobId, task };
  throw wrongUse(
    'redrive needs a task.',
    `Write \`millrace redrive ${id} TASK\`; \`millrace job ${id}\` lists the tasks.`,
  );
}
