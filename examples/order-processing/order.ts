/** An order: reserve the goods, charge the card, ship the parcel; and undo it all if that cannot be done. */
import { defineFlow, defineTask } from 'millrace';
import { z } from 'zod';
import { bank, carrier, warehouse } from './services.ts';

const Order = z.object({
  id: z.string(),
  item: z.string(),
  amount: z.number().int().positive(),
  cents: z.number().int().positive(),
  card: z.string(),
});

export const fulfil = defineTask({
  name: 'fulfil-order',
  input: Order,
  output: z.object({ receipt: z.string(), parcel: z.string() }),
  retry: { maxAttempts: 5, backoffMs: 1_000 },
  timeouts: { runMs: 30_000 },
  run: async (order, ctx) => {
    // When an attempt fails or its worker dies, the next one finds the steps that are done, and goes on.
    const shelf = await ctx.step('reserve', () => warehouse.reserve(order));
    // A worker may die after the bank has charged and before it could report that: then this step is done
    // again. The bank knows the key, which is the same in every attempt, and charges once.
    const receipt = await ctx.step('charge', () => bank.charge(order, ctx.idempotencyKey));
    const parcel = await ctx.step('ship', () => carrier.collect(order, shelf));
    return { receipt, parcel };
  },
});

export const undo = defineTask({
  name: 'undo-order',
  input: z.object({ order: z.string() }),
  output: z.object({ refunded: z.boolean(), released: z.boolean() }),
  retry: { maxAttempts: 20 },
  run: async ({ order }, ctx) => ({
    refunded: await ctx.step('refund', () => bank.refund(order)),
    released: await ctx.step('release', () => warehouse.release(order)),
  }),
});

export const order = defineFlow({
  name: 'order',
  input: Order,
  build: ({ input, task, failed }) => {
    const fulfilled = task('fulfil', fulfil, input);
    // Whatever was in the way: a card that was refused, a carrier that never answered, workers that died.
    task('undo', undo, { order: input.id }, { when: failed(fulfilled) });
    return fulfilled;
  },
});
