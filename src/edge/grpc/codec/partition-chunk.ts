/**
 * The one message that carries much: the generated code would copy its bytes three times on the way out and once
 * on the way in. What goes over the wire is the same.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { PartitionChunk } from '../../../scheduler/contract/index.ts';
import { safeNumber } from './values.ts';

/** Field numbers, as in `shuffle.proto`. */
const PAYLOAD = 1;
const START_OFFSET = 2;
const END_OFFSET = 3;
const WATERMARK_OFFSET = 4;
const FINALIZED = 5;
const STREAM_EPOCH = 6;

export function encodeChunk(chunk: PartitionChunk): Buffer {
  const { payload, startOffset, endOffset, watermarkOffset, isFinalized, epoch } = chunk;
  const words = new BinaryWriter();
  if (startOffset > 0) words.tag(START_OFFSET, WireType.Varint).uint64(startOffset);
  if (endOffset > 0) words.tag(END_OFFSET, WireType.Varint).uint64(endOffset);
  if (watermarkOffset > 0) words.tag(WATERMARK_OFFSET, WireType.Varint).uint64(watermarkOffset);
  if (isFinalized) words.tag(FINALIZED, WireType.Varint).bool(true);
  if (epoch > 0) words.tag(STREAM_EPOCH, WireType.Varint).uint32(epoch);
  // Fields may come in any order: the bytes last, because only their length has to be known before.
  if (payload.length > 0) words.tag(PAYLOAD, WireType.LengthDelimited).uint32(payload.length);
  const head = words.finish();
  const message = Buffer.allocUnsafe(head.length + payload.length);
  message.set(head);
  message.set(payload, head.length);
  return message;
}

/** The payload is a part of `bytes`. */
export function decodeChunk(bytes: Buffer): PartitionChunk {
  const reader = new BinaryReader(bytes);
  const chunk = {
    payload: Buffer.alloc(0) as Buffer,
    startOffset: 0,
    endOffset: 0,
    watermarkOffset: 0,
    isFinalized: false,
    epoch: 0,
  };
  const offset = (field: string): number => safeNumber(BigInt(reader.uint64()), field);
  while (reader.pos < reader.len) {
    const [field, kind] = reader.tag();
    switch (field) {
      case PAYLOAD: {
        const { buffer, byteOffset, byteLength } = reader.bytes();
        chunk.payload = Buffer.from(buffer, byteOffset, byteLength);
        break;
      }
      case START_OFFSET:
        chunk.startOffset = offset('start_offset');
        break;
      case END_OFFSET:
        chunk.endOffset = offset('end_offset');
        break;
      case WATERMARK_OFFSET:
        chunk.watermarkOffset = offset('watermark_offset');
        break;
      case FINALIZED:
        chunk.isFinalized = reader.bool();
        break;
      case STREAM_EPOCH:
        chunk.epoch = reader.uint32();
        break;
      default:
        reader.skip(kind, field);
    }
  }
  return chunk;
}
