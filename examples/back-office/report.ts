/** The report of what was sold: a query over the ledger, and a notice by a flow of another module. */
import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { defineFlow, defineTask, externalFlow, sqlTask } from 'millrace';
import { z } from 'zod';

/** As the query has them: item, orders, euros. */
const Sold = z.tuple([z.string(), z.number(), z.number()]);
const sumUp = sqlTask<z.infer<typeof Sold>>();
const BY_ITEM = `
  select item, count(*)::integer as orders, (sum(cents) / 100)::double as euros
  from orders group by item order by euros desc, item`;

/** In notices.ts; it may run on other workers. */
const notice = externalFlow<{ to: string; text: string }, { sent: boolean }>('notice');

export const listOrders = defineTask({
  name: 'list-orders',
  input: z.object({ ledger: z.string() }),
  output: z.array(z.string()),
  run: async ({ ledger }) => {
    const names = (await readdir(ledger)).filter((name) => name.endsWith('.json'));
    return names.toSorted().map((name) => resolve(ledger, name));
  },
});

export const tell = defineTask({
  name: 'tell',
  input: z.object({ sold: z.array(Sold), to: z.string() }),
  output: z.object({ text: z.string(), sent: z.boolean() }),
  run: async ({ sold, to }, ctx) => {
    const lines = sold.map(([item, orders, euros]) => `${item}: ${orders} for ${euros} EUR`);
    const text = lines.join('; ');
    return { text, ...(await ctx.call('notice', notice, { to, text })) };
  },
});

export const report = defineFlow({
  name: 'report',
  input: z.object({ ledger: z.string().default('ledger'), to: z.string().default('boss') }),
  build: ({ input, task }) => {
    const files = task('list', listOrders, { ledger: input.ledger });
    const sold = task('sum-up', sumUp, { sql: BY_ITEM, tables: { orders: files } });
    return task('tell', tell, { sold: sold.rows, to: input.to });
  },
});
