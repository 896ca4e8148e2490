import { expect, test } from 'vitest';
import { FetchShufflePartitionResponse } from '../gen/millrace/v1/shuffle.ts';
import type { PartitionChunk } from '../../../scheduler/contract/shuffle-port.ts';
import { decodeChunk, encodeChunk } from './partition-chunk.ts';

const CHUNKS: readonly PartitionChunk[] = [
  {
    payload: Buffer.from('payload'),
    startOffset: 3,
    endOffset: 10,
    watermarkOffset: Number.MAX_SAFE_INTEGER,
    isFinalized: true,
    epoch: 0xff_ff_ff_ff,
  },
  {
    payload: Buffer.alloc(0),
    startOffset: 0,
    endOffset: 0,
    watermarkOffset: 0,
    isFinalized: false,
    epoch: 0,
  },
];

const generated = ({ isFinalized, epoch, ...chunk }: PartitionChunk): Buffer =>
  Buffer.from(
    FetchShufflePartitionResponse.encode({
      payload: chunk.payload,
      startOffset: BigInt(chunk.startOffset),
      endOffset: BigInt(chunk.endOffset),
      watermarkOffset: BigInt(chunk.watermarkOffset),
      finalized: isFinalized,
      streamEpoch: epoch,
    }).finish(),
  );

test.each(CHUNKS)('what is written by hand is what the generated code reads', (chunk) => {
  const { finalized, streamEpoch, ...read } = FetchShufflePartitionResponse.decode(
    encodeChunk(chunk),
  );
  expect(read).toEqual({
    payload: chunk.payload,
    startOffset: BigInt(chunk.startOffset),
    endOffset: BigInt(chunk.endOffset),
    watermarkOffset: BigInt(chunk.watermarkOffset),
  });
  expect([finalized, streamEpoch]).toEqual([chunk.isFinalized, chunk.epoch]);
});

test.each(CHUNKS)('what the generated code writes is read by hand', (chunk) => {
  expect(decodeChunk(generated(chunk))).toEqual(chunk);
});

test('a field of a later version is passed over', () => {
  const later = Buffer.concat([Buffer.from([0xf8, 0x01, 0x07]), generated(CHUNKS[0]!)]);
  expect(decodeChunk(later)).toEqual(CHUNKS[0]);
});

test('bytes that are no message are refused', () => {
  expect(() => decodeChunk(Buffer.from([0x0a, 0x7f, 0x01]))).toThrow('premature EOF');
  const tooLarge = FetchShufflePartitionResponse.encode({
    ...FetchShufflePartitionResponse.decode(Buffer.alloc(0)),
    endOffset: 2n ** 60n,
  }).finish();
  expect(() => decodeChunk(Buffer.from(tooLarge))).toThrow('too large to be represented exactly');
});
