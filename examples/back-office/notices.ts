/** Notices: a module of its own, for workers that may send mail. */
import { defineFlow, defineTask } from 'millrace';
import { z } from 'zod';
import { services } from './services.ts';

export const send = defineTask({
  name: 'send',
  input: z.object({ to: z.string(), text: z.string() }),
  output: z.object({ sent: z.boolean() }),
  run: async ({ to, text }, ctx) => {
    await ctx.step('mail', () => services.mail(to, text));
    return { sent: true };
  },
});

export const notice = defineFlow({
  name: 'notice',
  input: z.object({ to: z.string(), text: z.string() }),
  build: ({ input, task }) => task('send', send, { to: input.to, text: input.text }),
});
