/** A process with a store of outputs and a server before it: says where it is, and lives until it is killed. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobId } from '../../src/scheduler/core/index.ts';
import { shuffleService, startRpcServer } from '../../src/edge/grpc/index.ts';
import { OutputStore, shuffleSource } from '../../src/sql/shuffle/index.ts';

const [folder = '', size = '10'] = process.argv.slice(2);
const store = await OutputStore.open({ folder });
const draft = await store.begin({ query: 'query-1' as JobId, task: 's0.0', fence: 1 });
await writeFile(join(draft.folder, '0-0.parquet'), Buffer.alloc(Number(size), 7));
const kept = await draft.commit([{ rows: 1, files: ['0-0.parquet'] }], 'inner');
const server = await startRpcServer({
  host: '127.0.0.1',
  port: 0,
  tls: null,
  services: [shuffleService(() => shuffleSource(store))],
  streams: { source: () => shuffleSource(store) },
  hasReflection: false,
});
process.stdout.write(`${JSON.stringify({ address: server.address, kept })}\n`);
