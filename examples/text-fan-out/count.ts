/** The most frequent words of a folder of texts: every file is counted on its own, by as many as there are. */
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { defineFlow, defineTask } from 'millrace';
import { z } from 'zod';

const Counts = z.record(z.string(), z.number().int());

export const listFiles = defineTask({
  name: 'list-files',
  input: z.object({ folder: z.string() }),
  output: z.array(z.string()),
  run: async ({ folder }) => {
    const names = await readdir(folder, { recursive: true });
    return names
      .filter((name) => /\.(md|txt)$/.test(name))
      .toSorted()
      .map((name) => join(folder, name));
  },
});

export const countWords = defineTask({
  name: 'count-words',
  input: z.string(),
  output: Counts,
  // To count keeps a processor busy. On a thread it holds up nobody else on the worker, and uses its cores.
  thread: import.meta.url,
  run: async (file, ctx) => {
    const text = await readFile(file, { encoding: 'utf8', signal: ctx.signal });
    const counts = new Map<string, number>();
    for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu)) {
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    return Object.fromEntries(counts);
  },
});

export const mostFrequent = defineTask({
  name: 'most-frequent',
  input: z.object({ counts: z.array(Counts), top: z.number().int() }),
  run: ({ counts, top }) => {
    const total = new Map<string, number>();
    for (const [word, count] of counts.flatMap((each) => Object.entries(each))) {
      total.set(word, (total.get(word) ?? 0) + count);
    }
    const sorted = [...total].toSorted(
      ([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1),
    );
    return {
      words: [...total.values()].reduce((sum, count) => sum + count, 0),
      top: sorted.slice(0, top).map(([word, count]) => ({ word, count })),
    };
  },
});

export const wordCount = defineFlow({
  name: 'word-count',
  input: z.object({ folder: z.string(), top: z.number().int().positive().default(5) }),
  build: ({ input, task, map }) => {
    const files = task('list', listFiles, { folder: input.folder });
    // How many files there are is known only when the job runs: each becomes a task of its own.
    const counts = map('count', countWords, files, { concurrency: 8 });
    const found = task('merge', mostFrequent, { counts, top: input.top });
    return { words: found.words, top: found.top };
  },
});
