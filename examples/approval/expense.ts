/** An expense that somebody has to approve. The flow may wait for days; it needs no process to do so. */
import { defineFlow, defineTask } from 'millrace';
import { z } from 'zod';
import { services } from './services.ts';

const Expense = z.object({
  id: z.string(),
  who: z.string(),
  cents: z.number().int().positive(),
  approver: z.string(),
  deputy: z.string(),
});

/** What the signal `decision` carries. */
const Decision = z.object({ approved: z.boolean(), by: z.string(), note: z.string().optional() });

export const decide = defineTask({
  name: 'decide-expense',
  input: Expense,
  output: Decision,
  run: async (expense, ctx) => {
    const question = `Approve ${expense.cents / 100} EUR for ${expense.who}? (${expense.id})`;
    await ctx.step('ask the approver', () => services.mail(expense.approver, question));
    // An answer that is none is left aside, and the wait goes on.
    const first = await ctx.waitFor('decision', { schema: Decision, timeout: '3d' });
    if (first !== undefined) return first;

    await ctx.step('ask the deputy', () => services.mail(expense.deputy, `Overdue: ${question}`));
    // The same signal is waited for a second time, which needs a name of its own.
    const again = { as: 'decision, overdue', schema: Decision, timeout: '2d' };
    const second = await ctx.waitFor('decision', again);
    if (second !== undefined) return second;

    return { approved: false, by: 'nobody', note: 'there was no decision within five days' };
  },
});

export const pay = defineTask({
  name: 'pay-expense',
  input: z.object({ id: z.string(), who: z.string(), cents: z.number().int() }),
  output: z.object({ transfer: z.string() }),
  run: async ({ who, cents }, ctx) => ({
    transfer: await ctx.step('transfer', () => services.transfer(who, cents, ctx.idempotencyKey)),
  }),
});

export const reject = defineTask({
  name: 'reject-expense',
  input: z.object({ id: z.string(), who: z.string(), decision: Decision }),
  run: async ({ id, who, decision }, ctx) => {
    const why = decision.note ?? 'no reason was given';
    await ctx.step('tell', () =>
      services.mail(who, `${id} was rejected by ${decision.by}: ${why}`),
    );
  },
});

export const expense = defineFlow({
  name: 'expense',
  input: Expense,
  build: ({ input, task, is, orNull }) => {
    const { id, who, cents } = input;
    const decision = task('decide', decide, input);
    const paid = task('pay', pay, { id, who, cents }, { when: decision.approved });
    task('reject', reject, { id, who, decision }, { when: is(decision.approved, '=', false) });
    return { approved: decision.approved, by: decision.by, transfer: orNull(paid.transfer) };
  },
});
