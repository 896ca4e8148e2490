/** Finds the paragraphs of a folder of texts that are nearest to a question. */
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildVectorIndex, createRuntime, nearest } from 'millrace';

const [folder = 'docs', question = 'How is a job cancelled?', work = 'vector-search'] =
  process.argv.slice(2);
const DIMENSIONS = 1024;

/** In the place of a model: words are counted in a few buckets, with rare ones of more weight. */
function embed(text: string, weight: (word: string) => number): number[] {
  const vector = Array.from({ length: DIMENSIONS }, () => 0);
  for (const word of wordsOf(text)) {
    let bucket = 7;
    for (const letter of word) bucket = (Math.imul(bucket, 31) + (letter.codePointAt(0) ?? 0)) | 0;
    const place = Math.abs(bucket) % DIMENSIONS;
    vector[place] = (vector[place] ?? 0) + weight(word);
  }
  return vector;
}

/** Endings are cut off, so that `job` and `jobs` are one word. */
function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
  return words.map((word) => word.slice(0, 6).replace(/(?:ing|ed|es|s)$/, ''));
}

const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.md'));
const paragraphs: { file: string; text: string }[] = [];
for (const file of files.toSorted())
  for (const text of (await readFile(join(folder, file), 'utf8')).split(/\n{2,}/))
    if (wordsOf(text).length > 5) paragraphs.push({ file, text });

const uses = new Map<string, number>();
for (const { text } of paragraphs)
  for (const word of new Set(wordsOf(text))) uses.set(word, (uses.get(word) ?? 0) + 1);
const weight = (word: string): number => Math.log(paragraphs.length / (uses.get(word) ?? 1));

await rm(work, { recursive: true, force: true });
await mkdir(work);
const lines = paragraphs.map(({ file, text }, id) =>
  JSON.stringify({ id, file, text, v: embed(text, weight) }),
);
await writeFile(join(work, 'paragraphs.ndjson'), lines.join('\n'));

await using runtime = await createRuntime({
  log: { debug() {}, info() {}, warn() {}, error() {} },
});
// As Parquet it is smaller, and its columns are read one by one.
const parquet = runtime.sql('select id, file, text, v::FLOAT[] as v from p order by id', {
  tables: { p: join(work, 'paragraphs.ndjson') },
});
await writeFile(join(work, 'paragraphs.parquet'), parquet.stream('parquet'));

const search = { table: 'paragraphs', key: 'id', vector: 'v', to: embed(question, weight) };
const tables = { paragraphs: join(work, 'paragraphs.parquet') };
const best = await nearest<{ id: bigint; file: string; text: string }>(runtime, {
  ...search,
  ...{ k: 3, columns: ['file', 'text'], tables },
});
console.log(`${paragraphs.length} paragraphs. ${question}`);
for (const { file, text, distance } of best)
  console.log(`${distance.toFixed(3)} ${file}: ${text.replaceAll(/\s+/g, ' ').slice(0, 90)}`);

// The same with an index: only the nearest clusters are read.
const clusters = Math.max(1, Math.round(Math.sqrt(paragraphs.length)));
const { k, nprobe } = { k: 10, nprobe: Math.ceil(clusters / 4) };
const index = await buildVectorIndex(runtime, {
  ...{ table: 'paragraphs', key: 'id', vector: 'v', tables },
  ...{ clusters, folder: join(work, 'index') },
});
const exact = await nearest<{ id: bigint }>(runtime, { ...search, k, tables });
const probed = await nearest<{ id: bigint }>(runtime, {
  ...{ ...search, k, tables: index.tables },
  probe: { centroids: 'paragraphs_centroids', nprobe },
});
const wanted = new Set(exact.map(({ id }) => id));
const hits = probed.filter(({ id }) => wanted.has(id)).length;
console.log(`index: ${nprobe} of ${clusters} clusters find ${hits} of ${exact.length}`);
