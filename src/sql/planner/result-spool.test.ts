import { readFile, readdir } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/rig/shuffle-node.ts';
import type { JobId, NodeId } from '../../scheduler/core/index.ts';
import type { HeldFragment, ResultChunk } from '../../scheduler/contract/index.ts';
import { ResultSpool } from './result-spool.ts';

const QUERY = 'q' as JobId;
const HELD: HeldFragment = {
  ...{ query: QUERY, taskId: 's1.0', stage: 1, task: 0, fence: 4, attempt: 2 },
  nodeId: 'w' as NodeId,
  address: null,
};

function chunk(no: number, text: string, rows: number | null = null): ResultChunk {
  const { query, stage, task, fence, attempt } = HELD;
  return { query, stage, task, fence, attempt, chunk: no, payload: Buffer.from(text), rows };
}

test('chunks in order are one file; a repeated one changes nothing', async () => {
  const spool = new ResultSpool({ folder: await temporaryFolder() });
  expect(await spool.put(chunk(0, 'abc'), HELD)).toBe(1);
  expect(await spool.put(chunk(1, 'de'), HELD)).toBe(2);
  expect(await spool.put(chunk(0, 'abc'), HELD)).toBe(2);
  expect(spool.find(QUERY, 's1.0', HELD)).toMatchObject({ bytes: 5, rows: null });
  expect(await spool.put(chunk(2, 'f', 7), HELD)).toBe(3);
  const found = spool.find(QUERY, 's1.0', { fence: 0, attempt: 2 });
  expect(found).toMatchObject({ bytes: 6, rows: 7, crc32: crc32('abcdef') });
  expect(await readFile(found?.path ?? '', 'utf8')).toBe('abcdef');
  expect(spool.find(QUERY, 's1.0', { fence: 3, attempt: 2 })).toBeNull();
  expect(spool.find(QUERY, 's1.1', HELD)).toBeNull();
});

test('chunks that arrive at the same time are taken one after the other', async () => {
  const spool = new ResultSpool({ folder: await temporaryFolder() });
  const texts = Array.from({ length: 20 }, (_, at) => `${at};`);
  await Promise.all(texts.map((text, at) => spool.put(chunk(at, text), HELD)));
  const { path = '' } = spool.find(QUERY, 's1.0', HELD) ?? {};
  expect(await readFile(path, 'utf8')).toBe(texts.join(''));
});

test('refuses gaps, other bytes, empty chunks, and anything after the last one', async () => {
  const spool = new ResultSpool({ folder: await temporaryFolder() });
  await expect(spool.put(chunk(1, 'x'), HELD)).rejects.toThrow('Continue with chunk 0.');
  await spool.put(chunk(0, 'abc'), HELD);
  await expect(spool.put(chunk(0, 'abd'), HELD)).rejects.toThrow('with other bytes');
  await expect(spool.put(chunk(1, ''), HELD)).rejects.toMatchObject({ code: 'bad_input' });
  await spool.put(chunk(1, '', 3), HELD);
  await expect(spool.put(chunk(2, 'x'), HELD)).rejects.toThrow('after the last one');
});

test('the disk that all results take is limited, and a dropped query gives its share back', async () => {
  const folder = await temporaryFolder();
  const spool = new ResultSpool({ folder, bytesMax: 5 });
  await spool.put(chunk(0, 'abcd'), HELD);
  await expect(spool.put(chunk(1, 'ef'), HELD)).rejects.toMatchObject({ code: 'overloaded' });
  await spool.drop(QUERY);
  expect(await readdir(folder)).toEqual([]);
  expect(spool.queries()).toEqual([]);
  expect(await spool.put(chunk(0, 'abcde'), HELD)).toBe(1);
});

test('a new attempt takes the place of the one before it', async () => {
  const folder = await temporaryFolder();
  const spool = new ResultSpool({ folder });
  await spool.put(chunk(0, 'old', 1), HELD);
  expect(await spool.put(chunk(0, 'new'), { ...HELD, fence: 5 })).toBe(1);
  expect(await readdir(folder)).toHaveLength(1);
  expect(spool.find(QUERY, 's1.0', HELD)).toBeNull();
});
