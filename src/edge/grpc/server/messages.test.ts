import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Frames } from './messages.ts';

function frame(message: Uint8Array, flag = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

test('messages are the same however their bytes are cut', () => {
  const message = fc.uint8Array({ maxLength: 40 });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), fc.array(fc.nat(30)), (messages, cuts) => {
      const bytes = Buffer.concat(messages.map((each) => frame(each)));
      const frames = new Frames(40);
      const read: Buffer[] = [];
      let at = 0;
      for (const length of [...cuts, bytes.length]) {
        read.push(...frames.read(bytes.subarray(at, at + length)));
        at += length;
      }
      expect(read.map((each) => [...each])).toEqual(messages.map((each) => [...each]));
    }),
  );
});

test('a message that is too large is refused before it is there', () => {
  const head = frame(Buffer.alloc(101)).subarray(0, 5);
  expect(() => new Frames(100).read(head)).toThrow('101 bytes exceeds the limit');
  expect(new Frames(101).read(head)).toEqual([]);
});

test('a compressed message is refused where the call names no way', () => {
  expect(() => new Frames(100).read(frame(Buffer.of(1), 1))).toThrow('is compressed');
});
