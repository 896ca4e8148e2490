/** The sales of all shops in one report: each shop's file is summed up on its own, then all are merged. */
import { mkdir, readdir, rename } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { defineFlow, defineTask } from 'millrace';
import { z } from 'zod';
import { query } from './duckdb.ts';

const Part = z.object({ part: z.string(), rows: z.number().int() });
const Best = z.array(z.object({ item: z.string(), amount: z.number(), euros: z.number() }));

export const findFiles = defineTask({
  name: 'find-sales',
  input: z.object({ folder: z.string(), out: z.string() }),
  output: z.array(z.object({ file: z.string(), out: z.string() })),
  run: async ({ folder, out }) => {
    const names = (await readdir(folder))
      .filter((name) => /\.(csv|parquet)$/.test(name))
      .toSorted();
    return names.map((name) => ({ file: join(folder, name), out }));
  },
});

export const sumUp = defineTask({
  name: 'sum-up-shop',
  input: z.object({ file: z.string(), out: z.string() }),
  output: Part,
  retry: { maxAttempts: 3 },
  timeouts: { runMs: 600_000 },
  run: async ({ file, out }, ctx) => {
    const shop = basename(file, extname(file));
    const read = file.endsWith('.parquet') ? 'read_parquet' : 'read_csv';
    const [count] = await query(`select count(*)::integer as rows from ${read}($file)`, { file });
    const part = await written(join(out, `part-${basename(file)}.parquet`), ctx.fence, (path) =>
      query(
        `copy (
           select $shop as shop, item, sum(amount) as amount, sum(cents) as cents
           from ${read}($file)
           group by item
         ) to $path (format parquet)`,
        { shop, file, path },
      ),
    );
    return { part, rows: Number(count?.['rows']) };
  },
});

export const mergeParts = defineTask({
  name: 'merge-parts',
  input: z.object({ parts: z.array(Part), out: z.string() }),
  output: z.object({ report: z.string(), rows: z.number().int(), best: Best }),
  run: async ({ parts, out }, ctx) => {
    const files = parts.map(({ part }) => part);
    const report = await written(join(out, 'report.parquet'), ctx.fence, (path) =>
      query(
        `copy (
           select item, sum(amount)::integer as amount, (sum(cents) / 100)::double as euros
           from read_parquet($files)
           group by item
           order by euros desc, item
         ) to $path (format parquet)`,
        { files, path },
      ),
    );
    const best = await query('from read_parquet($report) limit 3', { report });
    const rows = parts.reduce((sum, each) => sum + each.rows, 0);
    return { report, rows, best: Best.parse(best) };
  },
});

export const nightly = defineFlow({
  name: 'nightly-sales',
  input: z.object({ folder: z.string(), out: z.string() }),
  build: ({ input, task, map }) => {
    const files = task('find', findFiles, input);
    const parts = map('sum-up', sumUp, files, { concurrency: 4 });
    return task('merge', mergeParts, { parts, out: input.out });
  },
});

/**
 * A file is there whole or not at all: a task that is run again writes it anew, and whoever reads it sees
 * the old or the new one. The fence is another one in each attempt, so no two ever write the same file.
 */
async function written(
  path: string,
  fence: number,
  write: (path: string) => Promise<unknown>,
): Promise<string> {
  const draft = `${path}.${fence}`;
  await mkdir(dirname(path), { recursive: true });
  await write(draft);
  await rename(draft, path);
  return path;
}
