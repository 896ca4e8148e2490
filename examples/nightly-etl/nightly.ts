/** The sales of all shops in one report: one query over all files, and a task that writes what it found. */
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { defineFlow, defineTask, sqlTask } from 'millrace';
import { z } from 'zod';

/** As the query has them: item, rows, amount, euros. */
const Sold = z.tuple([z.string(), z.number().int(), z.number().int(), z.number()]);
const Best = z.array(z.object({ item: z.string(), amount: z.number(), euros: z.number() }));

/** The executor `sql`, with the rows of this query. */
const sumUp = sqlTask<z.infer<typeof Sold>>();
const BY_ITEM = `
  select item,
         count(*)::integer as rows,
         sum(amount)::integer as amount,
         (sum(cents) / 100)::double as euros
  from sales
  group by item
  order by euros desc, item`;

export const findFiles = defineTask({
  name: 'find-sales',
  input: z.object({ folder: z.string() }),
  output: z.array(z.string()),
  run: async ({ folder }) => {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.csv')).toSorted();
    // Whoever reads them may have another working directory.
    return names.map((name) => resolve(folder, name));
  },
});

export const writeReport = defineTask({
  name: 'write-report',
  input: z.object({ sold: z.array(Sold), out: z.string() }),
  output: z.object({ report: z.string(), rows: z.number().int(), best: Best }),
  run: async ({ sold, out }, ctx) => {
    const lines = sold.map(([item, , amount, euros]) => `${item},${amount},${euros}\n`);
    const report = await written(
      join(out, 'report.csv'),
      ['item,amount,euros\n', ...lines].join(''),
      ctx.fence,
    );
    const rows = sold.reduce((sum, [, count]) => sum + count, 0);
    const best = sold.slice(0, 3).map(([item, , amount, euros]) => ({ item, amount, euros }));
    return { report, rows, best };
  },
});

export const nightly = defineFlow({
  name: 'nightly-sales',
  input: z.object({ folder: z.string(), out: z.string() }),
  build: ({ input, task }) => {
    const files = task('find', findFiles, { folder: input.folder });
    // Distributed over all workers when there is enough to read; it holds no slot while it runs.
    const sold = task('sum-up', sumUp, { sql: BY_ITEM, tables: { sales: files } });
    return task('report', writeReport, { sold: sold.rows, out: input.out });
  },
});

/**
 * A file is there whole or not at all: a task that is run again writes it anew, and whoever reads it sees
 * the old or the new one. The fence is another one in each attempt, so no two ever write the same file.
 */
async function written(path: string, text: string, fence: number): Promise<string> {
  const draft = `${path}.${fence}`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(draft, text);
  await rename(draft, path);
  return path;
}
