import { expect, test } from 'vitest';
import { BlockReader } from './event-stream.ts';

const TEXT = 'retry: 2000\n\nid: 7@h\nevent: queued\ndata: {"a":1}\n\n: still here\n\nid: 9@h\n\n';

test.each([1, 3, 7, 1_000])('reads the same blocks from pieces of %i characters', (size) => {
  const reader = new BlockReader();
  const blocks = [];
  for (let at = 0; at < TEXT.length; at += size)
    blocks.push(...reader.push(TEXT.slice(at, at + size)));
  expect(blocks).toEqual([
    { id: '7@h', kind: 'queued', data: '{"a":1}' },
    { id: '9@h', kind: null, data: null },
  ]);
});
