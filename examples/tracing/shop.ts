/** An order that takes steps, waits, calls another job and asks a query: each leaves its spans. */
import { trace } from '@opentelemetry/api';
import { defineFlow, defineTask, sqlTask } from 'millrace';
import { z } from 'zod';

/** A job of its own, which the order calls. No carrier answers the first time. */
export const pack = defineTask({
  name: 'pack',
  input: z.object({ item: z.string() }),
  output: z.string(),
  retry: { backoffMs: 10 },
  run: ({ item }, ctx) => {
    if (ctx.attempt === 1) throw new Error('no carrier has answered');
    return `parcel with a ${item}`;
  },
});

export const fulfil = defineTask({
  name: 'fulfil',
  input: z.object({ item: z.string() }),
  output: z.string(),
  run: async ({ item }, ctx) => {
    await ctx.step('charge', () => charged(item));
    // Nothing is open while it sleeps: what follows is a trace of its own, linked to this one.
    await ctx.sleep('cool-off', '200ms');
    return ctx.call('pack', pack, { item });
  },
});

/** Instrumented code of yours finds the span of its step as its parent. */
function charged(item: string): string {
  return trace.getTracer('payments').startActiveSpan('POST /charges', (span) => {
    span.end();
    return `a ${item} is paid`;
  });
}

const count = sqlTask<[count: number]>();

export const shop = defineFlow({
  name: 'shop',
  input: z.object({ item: z.string() }),
  build: ({ input, task }) => {
    const parcel = task('fulfil', fulfil, { item: input.item });
    const sold = task('count', count, {
      sql: 'select sum(n)::integer as sold from (values (1), (2), (3)) sales(n)',
    });
    return { parcel, rows: sold.rows };
  },
});
