/** Steps with a wait between them, in a process that is killed there: what is done is printed on stdout. */
import { createRuntime, defineTask } from 'millrace';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const steps = defineTask({
  name: 'steps',
  run: async (_input, ctx) => {
    await ctx.step('first', () => say('first'));
    if (ctx.run === 1 && process.argv[2] === 'hang') {
      say('hangs');
      await new Promise<never>(() => {});
    }
    await ctx.waitFor('go');
    await ctx.step('second', () => say('second'));
    return 'done';
  },
});

const runtime = await createRuntime({ tasks: [steps] });
say(`ready ${runtime.url}`);
const job = await runtime.submit(steps, null, { jobId: 'job' });
if (process.argv[2] === 'finish') {
  await job.signal('go');
  say(`result ${await job.result()}`);
  await runtime.close();
} else if (process.argv[2] === 'exit') {
  process.exit(7);
}
