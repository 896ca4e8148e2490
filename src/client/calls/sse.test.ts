import { expect, test } from 'vitest';
import { refusalOf } from '../../../test/rig/refusal.ts';
import { SseParser } from './sse.ts';

function parsed(...chunks: readonly (string | Buffer)[]) {
  const parser = new SseParser();
  return chunks.flatMap((chunk) => parser.push(Buffer.from(chunk as string)));
}

const hello = { id: '7', event: 'created', data: 'hello' };

test.each(['\n', '\r', '\r\n'])('lines may end in %j', (end) => {
  const text = ['id: 7', 'event: created', 'data: hello', '', ''].join(end);
  expect(parsed(`${text}data: next${end}${end}`)).toEqual([
    hello,
    { id: '7', event: 'message', data: 'next' },
  ]);
});

test('an event may come in pieces, even a byte at a time and within a character', () => {
  const text = Buffer.from(
    '\uFEFFid: 7\r\nevent: created\r\ndata: hällo €\r\n\r\n:x\r\ndata\r\n\r\n',
  );
  const bytes = [...text].map((byte) => Buffer.from([byte]));
  expect(parsed(...bytes)).toEqual([
    { id: '7', event: 'created', data: 'hällo €' },
    { id: '7', event: 'message', data: '' },
  ]);
});

test('CR and LF in two chunks end one line, not two', () => {
  expect(parsed('data: a\r', '\ndata: b\r', '\n\r', '\n')).toEqual([
    { id: null, event: 'message', data: 'a\nb' },
  ]);
  expect(parsed('data: a\r', '\r', 'data: b\n\n')).toHaveLength(2);
});

test('only one space after the colon is dropped, and a colon in the value stays', () => {
  expect(parsed('data:  a: b\ndata:c\n\n')).toEqual([
    { id: null, event: 'message', data: ' a: b\nc' },
  ]);
});

test('comments, unknown fields and empty blocks are nothing', () => {
  expect(parsed(': alive\n\n', '\n\n', 'retry: 10\nfoo: bar\n\n')).toEqual([]);
});

test('an id without data moves the place on; one with NUL is ignored', () => {
  expect(parsed('id: 9\n\n', 'id: 1\0\n\n', 'data: x\n\n')).toEqual([
    { id: '9', event: 'message', data: null },
    { id: '9', event: 'message', data: 'x' },
  ]);
});

test('an event that is cut off is dropped', () => {
  expect(parsed('id: 7\nevent: created\ndata: hello\n')).toEqual([]);
});

test('an event without end is refused instead of kept, comments add up to nothing', () => {
  const parser = new SseParser(100);
  for (let count = 0; count < 50; count += 1) parser.push(Buffer.from(': still alive\n'));
  parser.push(Buffer.from(`data: ${'x'.repeat(60)}`));
  expect(refusalOf(() => parser.push(Buffer.from('x'.repeat(60)))).code).toBe('too_large');
});
