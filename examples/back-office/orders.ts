/** Orders: large ones need an approval, every one is charged once, and what was sold goes into the ledger. */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { FatalError, defineFlow, defineTask } from 'millrace';
import { z } from 'zod';
import { services } from './services.ts';

const Order = z.object({
  id: z.string().regex(/^[A-Z]-\d+$/, 'an order id looks like A-7'),
  customer: z.string(),
  item: z.string(),
  cents: z.number().int().positive(),
  ledger: z.string().default('ledger'),
});

/** What the signal `decision` carries. */
const Decision = z.object({ approved: z.boolean(), by: z.string() });

export const approve = defineTask({
  name: 'approve',
  input: Order,
  output: Decision,
  run: async ({ id, cents }, ctx) => {
    await ctx.step('ask', () => services.mail('boss', `Approve ${id} for ${cents / 100} EUR?`));
    const decision = await ctx.waitFor('decision', { schema: Decision, timeout: '3d' });
    if (decision?.approved === true) return decision;
    throw new FatalError(`${id} was rejected by ${decision?.by ?? 'nobody within three days'}.`);
  },
});

export const charge = defineTask({
  name: 'charge',
  input: z.object({ id: z.string(), customer: z.string(), cents: z.number() }),
  output: z.object({ receipt: z.string() }),
  retry: { maxAttempts: 5, backoffMs: 200 },
  // The payment provider gets the same key in every attempt, so it charges once.
  run: async ({ id, customer, cents }, ctx) => ({
    receipt: await ctx.step('pay', () => services.pay(customer, cents, `order ${id}`)),
  }),
});

export const book = defineTask({
  name: 'book',
  input: z.object({ order: Order, receipt: z.string(), by: z.string().nullable() }),
  run: async ({ order: { id, customer, item, cents, ledger }, receipt, by }, ctx) => {
    const row = { id, customer, item, cents, receipt, approved_by: by };
    await mkdir(ledger, { recursive: true });
    // There whole or not at all, however often it is tried.
    const draft = join(ledger, `${id}.${ctx.fence}.draft`);
    await writeFile(draft, `${JSON.stringify(row)}\n`);
    await rename(draft, join(ledger, `${id}.json`));
    return { file: resolve(ledger, `${id}.json`) };
  },
});

export const order = defineFlow({
  name: 'order',
  input: Order,
  search: (input) => ({ customer: input.customer }),
  build: ({ input, task, is, orNull }) => {
    const approved = task('approve', approve, input, { when: is(input.cents, '>=', 100_00) });
    const paid = task(
      'charge',
      charge,
      { id: input.id, customer: input.customer, cents: input.cents },
      // The same order in two jobs is charged once.
      {
        idempotencyKey: input.id,
        concurrency: { key: input.customer, limit: 1 },
        after: [orNull(approved)],
      },
    );
    const booked = task('book', book, {
      order: input,
      receipt: paid.receipt,
      by: orNull(approved.by),
    });
    return { receipt: paid.receipt, file: booked.file };
  },
});
