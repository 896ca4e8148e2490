/** Works off the one table of hand-written SQL, 500 rows a batch: `raw-process.ts URL`. */
import postgres from 'postgres';
import { COMPLETE, IDLE_MS, LEASE, PLANS } from './raw-sql.ts';
import { pause } from './contender.ts';

const [url = ''] = process.argv.slice(2);
const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => {}, connection: PLANS });
const end = new AbortController();
process.on('SIGTERM', () => end.abort());
process.stdout.write('ready\n');

while (!end.signal.aborted) {
  const rows = await sql.unsafe<{ id: string; input: string }[]>(LEASE, [], { prepare: true });
  if (rows.length === 0) {
    await pause(IDLE_MS);
    continue;
  }
  // What a handler of nothing leaves: its input is its result.
  const ids = `{${rows.map(({ id }) => id).join(',')}}`;
  const results = `{${rows.map(({ input }) => JSON.stringify(input)).join(',')}}`;
  await sql.unsafe(COMPLETE, [ids, results], { prepare: true });
}
await sql.end();
process.exit(0);
