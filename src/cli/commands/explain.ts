import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';
import { plain } from '../table.ts';
import { reasonWords, span } from '../wording.ts';

export const command: CommandModule = {
  examples: ['millrace explain 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77/fetch'],
  declare(command) {
    command.argument('<job/task>', 'the task to explain');
    declareServer(command);
  },
  run(command, reply, signal) {
    const [name = ''] = command.args;
    const [job = '', task = '', surplus] = name.split('/');
    if (job === '' || task === '' || surplus !== undefined) {
      throw wrongUse(
        `'${name}' is not a valid task reference.`,
        'Write JOB/TASK; `millrace job` shows both.',
      );
    }
    return withClient(command, 'read', signal, async (client) => {
      const answer = await client.explain(job, task, { signal });
      const { state, code, why, ageMs, nearest } = answer;
      const age = ageMs === null ? '' : ` for ${span(ageMs)}`;
      // `it has failed: ...` says the state already.
      const rest = /^it (has|was) /.test(why) && code === 'ended' ? why.slice(3) : null;
      const sentence = rest ?? `is ${state}${age}: ${reasonWords(why)}`;
      reply.say(plain(`Task ${task} ${sentence}.`.replace(/\.\.$/, '.')));
      // The sentence may name the nearest already.
      for (const { nodeId, lacks } of nearest.filter((each) => !why.includes(each.nodeId))) {
        reply.say(plain(`  ${nodeId} lacks ${lacks.join(', ')}`));
      }
      reply.answer(answer);
      return exit.done;
    });
  },
};
