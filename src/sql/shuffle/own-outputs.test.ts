import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { QUERY, bytes, channel, keep, openStore, readOf } from '../../../test/rig/shuffle-node.ts';
import { partitionInfo } from './output-index.ts';
import type { OutputStore } from './index.ts';
import { PartitionReader } from './index.ts';

const NEVER = new AbortController().signal;

test('reads an own output only to verify it if it changed since its checksum was computed', async () => {
  const store = await openStore();
  const kept = await keep(store, 's0.0', [[bytes(100)]]);
  const [part] = kept.index.parts;
  // Whoever reads the file finds that this is not its checksum.
  const segments = part!.segments.map((each) => ({ ...each, crc32: each.crc32 ^ 1 }));
  const index = { ...kept.index, parts: [{ ...part!, segments }] };
  const other = { ...kept, index, parts: index.parts.map(partitionInfo) };
  const localize = (states: ReadonlyMap<string, string>): Promise<unknown> => {
    const own = { find: () => ({ ...other, states }), root: store.root } as unknown as OutputStore;
    const reader = new PartitionReader({ own, mayReadInPlace: false, channel: channel() });
    return reader.localize(QUERY, [readOf(other, 0, null)], '', NEVER);
  };
  await expect(localize(kept.states)).resolves.toHaveLength(1);
  await expect(localize(new Map())).rejects.toMatchObject({ code: 'input_lost' });
  await writeFile(join(kept.folder, '0-0.parquet'), bytes(100, 9));
  await expect(localize(kept.states)).rejects.toMatchObject({ code: 'input_lost' });
});
