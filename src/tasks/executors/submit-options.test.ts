import { expect, test } from 'vitest';
import { withSubmitOptions } from './submit-options.ts';

const NOW = Date.parse('2030-01-01T00:00:00Z');
const withOptions = (
  given: Parameters<typeof withSubmitOptions>[0],
  options: Parameters<typeof withSubmitOptions>[1],
) => withSubmitOptions(given, options, NOW);
const document = { name: 'flow', labels: { team: 'a', order: '7' }, tasks: [] };

test('labels of a call join those of the flow, and win over them', () => {
  expect(withOptions(document, { labels: { team: 'b', tier: 'gold' } })).toEqual({
    ...document,
    labels: { team: 'b', order: '7', tier: 'gold' },
  });
  expect(withOptions(document, {})).toEqual(document);
});

test('what is kept of this job wins over what the flow says', () => {
  expect(withOptions({ ...document, keep: 'all' }, { keep: 'none' })).toMatchObject({
    keep: 'none',
  });
});

test('a start is a date, text, or a delay from now', () => {
  const runAt = new Date('2030-01-01T00:00:00Z');
  expect(withOptions(document, { runAt })).toMatchObject({
    runAt: '2030-01-01T00:00:00.000Z',
  });
  expect(withOptions(document, { runAt: '2030-01-01T00:00:00+01:00' })).toMatchObject({
    runAt: '2030-01-01T00:00:00+01:00',
  });
  expect(withOptions(document, { delay: '2h' })).toMatchObject({
    runAt: '2030-01-01T02:00:00.000Z',
  });
});

test.each([
  { delay: 'soon' },
  { delay: -1 },
  { runAt: new Date(Number.NaN) },
  { runAt: '2030-01-01T00:00:00Z', delay: 5 },
])('%j is refused before anything is sent', (options) => {
  expect(() => withOptions(document, options)).toThrow(
    expect.objectContaining({ code: 'bad_input', path: '/runAt' }),
  );
});
