/** What a worker does for the shop. */
import { FatalError, defineTask } from 'millrace';
import { z } from 'zod';
import { sql } from './database.ts';

export const ship = defineTask({
  name: 'ship-order',
  input: z.object({ order: z.string() }),
  output: z.object({ order: z.string(), left: z.number().int() }),
  run: ({ order }, ctx) =>
    sql.begin(async (tx) => {
      const [stock] = await tx<{ left: number }[]>`
        update stock set amount = stock.amount - orders.amount
        from orders
        where orders.id = ${order} and stock.item = orders.item and stock.amount >= orders.amount
        returning stock.amount as left`;
      if (stock === undefined) throw new FatalError(`there is not enough for order ${order}`);
      await tx`update orders set state = 'shipped' where id = ${order}`;
      const shipped = { order, left: stock.left };
      // The task is completed by the same commit. If the worker dies right after it, the task is not run
      // again; if an older attempt has committed in the meantime, this one is rolled back.
      await ctx.completeWith(tx, shipped);
      return shipped;
    }),
});
