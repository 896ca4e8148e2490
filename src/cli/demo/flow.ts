/**
 * What the workers of the demo run: the module that they are started with, written as a user would. A shop
 * counts its sales with distributed SQL over Parquet files, and meanwhile fulfils an order.
 */
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import {
  defineFlow,
  defineTask,
  externalTask,
  type Flow,
  type HttpInput,
  sqlTask,
  type Task,
} from '../../tasks/flow/index.ts';
import { literally, query } from './duckdb.ts';

export interface Day {
  readonly folder: string;
  readonly day: number;
  readonly rows: number;
}

export interface Order {
  /** Where the shop is called. */
  readonly shop: string;
  readonly id: string;
  readonly cents: number;
}

export interface Total {
  readonly currency: string;
  readonly sales: number;
  readonly cents: number;
}

export interface Report {
  readonly sales: number;
  readonly euroCents: number;
  readonly totals: readonly Total[];
}

export interface Fulfilled {
  readonly receipt: string;
  readonly parcel: string;
}

/** Thousandths of a euro, by currency. */
export type Rates = Readonly<Record<string, number>>;

export interface DemoInput {
  readonly ratesUrl: string;
  readonly order: Order;
  readonly days: readonly Day[];
}

/** The tasks that the story is about. */
export const ORDER = 'order';
export const SALES = 'sales';
export const SUMS = 'sums';

/** The executor `http`, with what this address answers. */
const getRates = externalTask<HttpInput, { body: Rates }>('http');

/** Returns where the file is, as a table is named: in a path of a table DuckDB's patterns count. */
const writeSales: Task<Day, string> = defineTask({
  name: 'demo-write-sales',
  run: async ({ folder, day, rows }: Day, ctx) => {
    const file = join(folder, `sales-${day}.parquet`);
    // A worker that dies while writing leaves a draft: no two attempts have the same fence.
    const draft = `${file}.${ctx.fence}`;
    await query(
      `copy (
         select ['CHF', 'EUR', 'GBP', 'USD'][(1 + hash(i, $day) % 4)::integer] as currency,
                (100 + hash(i, $day, 'price') % 9900)::integer as cents
         from range($rows) as sale(i)
       ) to $draft (format parquet)`,
      { day, rows, draft },
      ctx.signal,
    );
    await rename(draft, file);
    return literally(file);
  },
});

/** The executor `sql`, with the rows of this query: a BIGINT is text in JSON. */
const addUp = sqlTask<Sum>();
type Sum = [currency: string, sales: string, cents: string];
const BY_CURRENCY = `
  select currency, count(*) as sales, sum(cents)::bigint as cents
  from sales group by currency order by currency`;

const convert: Task<{ sums: Sum[]; rates: Rates }, Report> = defineTask({
  name: 'demo-convert',
  run: ({ sums, rates }: { sums: readonly Sum[]; rates: Rates }) => {
    const totals = sums.map(([currency, sales, cents]) => ({
      currency,
      sales: Number(sales),
      cents: Number(cents),
    }));
    return reportOf(totals, rates);
  },
});

function reportOf(totals: readonly Total[], rates: Rates): Report {
  const thousandths = totals.reduce(
    (sum, { currency, cents }) => sum + cents * (rates[currency] ?? Number.NaN),
    0,
  );
  return {
    sales: totals.reduce((sum, { sales }) => sum + sales, 0),
    euroCents: Math.floor(thousandths / 1_000),
    totals,
  };
}

/** Three effects in the outside world. The first and the last must happen once, whichever process dies. */
const fulfil: Task<Order, Fulfilled> = defineTask({
  name: 'demo-fulfil',
  run: async ({ shop, id, cents }: Order, ctx) => {
    const ask = async (what: string): Promise<string> => {
      const response = await fetch(new URL(`orders/${id}/${what}`, shop), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': ctx.idempotencyKey },
        body: JSON.stringify({ cents, pid: process.pid }),
        signal: ctx.signal,
      });
      if (!response.ok) throw new Error(`the shop answered ${response.status}`);
      return response.text();
    };
    const receipt = await ctx.step('charge', () => ask('charge'));
    ctx.progress(0.5, 'charged, now packing');
    await ask('pack');
    const parcel = await ctx.step('ship', () => ask('ship'));
    return { receipt, parcel };
  },
});

/** A user would take the schema of a library, such as zod. */
const demoInput: StandardSchemaV1<DemoInput> = {
  '~standard': {
    version: 1,
    vendor: 'millrace-demo',
    validate(value) {
      const { days } = (value ?? {}) as Partial<DemoInput>;
      if (Array.isArray(days)) return { value: value as DemoInput };
      return { issues: [{ message: 'Must be a list.', path: ['days'] }] };
    },
  },
};

export const demo: Flow<DemoInput, { report: Report; order: Fulfilled }> = defineFlow({
  name: 'demo',
  input: demoInput,
  // Limits the wait when something has gone wrong.
  timeouts: { totalMs: 600_000 },
  build: ({ input, task, map }) => {
    const rates = task('rates', getRates, { url: input.ratesUrl });
    const order = task(ORDER, fulfil, input.order, { after: [rates] });
    const files = map(SALES, writeSales, input.days);
    const sums = task(SUMS, addUp, {
      sql: BY_CURRENCY,
      tables: { sales: files },
      // Distributed however small the files are, because the demo shows it.
      settings: { singleFragmentBytes: 0, broadcastThresholdBytes: 0 },
    });
    const report = task('report', convert, { sums: sums.rows, rates: rates.body });
    return { report, order };
  },
});
