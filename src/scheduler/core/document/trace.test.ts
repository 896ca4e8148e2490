import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkedSettings } from '../settings.ts';
import { decodeJobOptions, encodeJobOptions } from './job-options.ts';
import { parseJobDocument } from './parse.ts';
import { readTrace, traceIdOf } from './trace.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const parent = `00-${TRACE}-${SPAN}-01`;

test('reads a trace context and writes it in one form', () => {
  expect(readTrace(parent)).toEqual({ parent, state: null });
  expect(readTrace(`00-${TRACE}-${SPAN}-00`)?.parent).toBe(`00-${TRACE}-${SPAN}-00`);
  expect(readTrace(parent, ' rojo=00f067aa ,\tcongo@acme=t61rcWkgMzE,')).toEqual({
    parent,
    state: 'rojo=00f067aa,congo@acme=t61rcWkgMzE',
  });
  expect(traceIdOf({ parent, state: null })).toBe(TRACE);
});

test('of a later version and of unknown flags only what is known is kept', () => {
  expect(readTrace(`cc-${TRACE}-${SPAN}-ff-what-ever`)?.parent).toBe(parent);
  expect(readTrace(`01-${TRACE}-${SPAN}-fe`)?.parent).toBe(`00-${TRACE}-${SPAN}-00`);
});

test.each([
  ['nothing', undefined],
  ['no text', 42],
  ['an object', { parent }],
  ['a list of one', [parent]],
  ['empty text', ''],
  ['capital letters', parent.toUpperCase()],
  ['the reserved version', `ff-${TRACE}-${SPAN}-01`],
  ['a trace id of zeroes', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span id of zeroes', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['a field too many in version 00', `${parent}-00`],
  ['a space', ` ${parent}`],
  ['a line end', `${parent}\n`],
  ['two headers joined', `${parent}, ${parent}`],
  ['a short id', `00-${TRACE.slice(1)}-${SPAN}-01`],
  ['something very long', `01-${TRACE}-${SPAN}-01-${'a'.repeat(1_000)}`],
])('ignores %s', (_what, value) => {
  expect(readTrace(value)).toBeNull();
});

test.each([
  ['no text', 7],
  ['too long', `a=${'x'.repeat(600)}`],
  ['too many', Array.from({ length: 33 }, (_, no) => `k${no}=1`).join(',')],
  ['twice the same key', 'a=1,a=2'],
  ['no value', 'a='],
  ['a capital key', 'A=1'],
  ['a control character', 'a=\u0001'],
  ['beyond ASCII', 'a=ü'],
  ['nothing but commas', ',,,'],
])('drops a state that is wrong, and keeps the trace: %s', (_what, state) => {
  expect(readTrace(parent, state)).toEqual({ parent, state: null });
});

test('never throws, and what it accepts it accepts again unchanged', () => {
  const digits = (length: number): fc.Arbitrary<string> =>
    fc.string({
      unit: fc.constantFrom('0', '1', '7', 'a', 'f', 'F', 'g'),
      minLength: length,
      maxLength: length,
    });
  const likely = fc
    .tuple(digits(2), digits(32), digits(16), digits(2))
    .map((parts) => parts.join('-'));
  fc.assert(
    fc.property(fc.oneof(likely, fc.anything()), fc.oneof(fc.string(), fc.anything()), (a, b) => {
      const read = readTrace(a, b);
      if (read !== null) expect(readTrace(read.parent, read.state)).toEqual(read);
    }),
  );
});

test('a job document carries it; a hostile one costs nobody the job', () => {
  const settings = checkedSettings();
  const job = { name: 'n', tasks: [{ id: 'a', executor: 'echo' }] };
  const traced = parseJobDocument({ ...job, traceparent: parent, tracestate: 'a=1' }, settings);
  const { trace } = traced.options;
  expect(trace).toEqual({ parent, state: 'a=1' });
  const stored = encodeJobOptions({
    ...traced.options,
    firstAt: null,
    batchOf: null,
    priority: null,
    runAt: null,
    startedBy: null,
  });
  expect(decodeJobOptions(stored).trace).toEqual(trace);
  for (const traceparent of [null, 1, {}, 'x'.repeat(10_000), '<script>']) {
    expect(parseJobDocument({ ...job, traceparent }, settings).options.trace).toBeNull();
  }
});
