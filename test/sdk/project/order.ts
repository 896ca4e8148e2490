import { defineFlow, defineTask } from 'millrace';
import { z } from 'zod';

export const charge = defineTask({
  name: 'charge',
  input: z.object({ order: z.string(), cents: z.number().int() }),
  output: z.object({ receipt: z.string() }),
  run: async ({ order, cents }, ctx) => {
    const receipt = await ctx.step('pay', () => `${order}-${cents}`);
    return { receipt };
  },
});

export const pack = defineTask({
  name: 'pack',
  input: z.object({ item: z.string() }),
  run: ({ item }) => ({ box: `box of ${item}` }),
});

export const ship = defineTask({
  name: 'ship',
  input: z.object({ receipt: z.string(), boxes: z.array(z.object({ box: z.string() })) }),
  run: async ({ receipt, boxes }, ctx) => {
    await ctx.sleep('collection', '50ms');
    return { parcel: `${boxes.map(({ box }) => box).join(', ')} (${receipt})` };
  },
});

export const order = defineFlow({
  name: 'order',
  input: z.object({
    id: z.string(),
    cents: z.number().int(),
    items: z.array(z.object({ item: z.string() })),
  }),
  build: ({ input, task, map }) => {
    const paid = task('charge', charge, { order: input.id, cents: input.cents });
    const boxes = map('pack', pack, input.items);
    const sent = task('ship', ship, { receipt: paid.receipt, boxes });
    return { receipt: paid.receipt, parcel: sent.parcel };
  },
});
