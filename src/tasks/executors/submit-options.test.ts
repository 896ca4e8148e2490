import { expect, test } from 'vitest';
import { submitFields } from './submit-options.ts';

const NOW = Date.parse('2030-01-01T00:00:00Z');
const fields = (options: Parameters<typeof submitFields>[0]) => submitFields(options, NOW);

test('says what the options say, and nothing of the call itself', () => {
  const said = { labels: { team: 'b' }, keep: 'none', singleton: { key: 'k' } } as const;
  const call = { signal: new AbortController().signal, jobId: 'j' };
  expect(fields({ ...said, ...call })).toEqual(said);
});

test('a start is a date, text, or a delay from now', () => {
  const runAt = new Date('2030-01-01T00:00:00Z');
  expect(fields({ runAt })).toMatchObject({
    runAt: '2030-01-01T00:00:00.000Z',
  });
  expect(fields({ runAt: '2030-01-01T00:00:00+01:00' })).toMatchObject({
    runAt: '2030-01-01T00:00:00+01:00',
  });
  expect(fields({ delay: '2h' })).toMatchObject({
    runAt: '2030-01-01T02:00:00.000Z',
  });
});

test.each([
  { delay: 'soon' },
  { delay: -1 },
  { runAt: new Date(Number.NaN) },
  { runAt: '2030-01-01T00:00:00Z', delay: 5 },
])('%j is refused before anything is sent', (options) => {
  expect(() => fields(options)).toThrow(
    expect.objectContaining({ code: 'bad_input', path: '/runAt' }),
  );
});
