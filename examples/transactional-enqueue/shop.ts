/** What a worker does for the shop. */
import { FatalError, defineTask } from 'millrace';
import { z } from 'zod';
import { transaction } from './database.ts';

export const ship = defineTask({
  name: 'ship-order',
  input: z.object({ order: z.string() }),
  output: z.object({ order: z.string(), left: z.number().int() }),
  run: ({ order }, ctx) =>
    transaction(async (client) => {
      const { rows } = await client.query<{ left: number }>(
        `update stock set amount = stock.amount - orders.amount
         from orders
         where orders.id = $1 and stock.item = orders.item and stock.amount >= orders.amount
         returning stock.amount as left`,
        [order],
      );
      const stock = rows[0];
      if (stock === undefined) throw new FatalError(`there is not enough for order ${order}`);
      await client.query(`update orders set state = 'shipped' where id = $1`, [order]);
      const shipped = { order, left: stock.left };
      // The task is completed by the same commit. If the worker dies right after it, the task is not run
      // again; if an older attempt has committed in the meantime, this one is rolled back.
      await ctx.completeWith(client, shipped);
      return shipped;
    }),
});
