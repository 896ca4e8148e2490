import { expect, test } from 'vitest';
import { withSubmitOptions } from './submit-options.ts';

const document = { name: 'flow', labels: { team: 'a', order: '7' }, tasks: [] };

test('labels of a call join those of the flow, and win over them', () => {
  expect(withSubmitOptions(document, { labels: { team: 'b', tier: 'gold' } })).toEqual({
    ...document,
    labels: { team: 'b', order: '7', tier: 'gold' },
  });
  expect(withSubmitOptions(document, {})).toEqual(document);
});

test('what is kept of this job wins over what the flow says', () => {
  expect(withSubmitOptions({ ...document, keep: 'all' }, { keep: 'none' })).toMatchObject({
    keep: 'none',
  });
});

test('a start is a date, text, or a delay from now', () => {
  const runAt = new Date('2030-01-01T00:00:00Z');
  expect(withSubmitOptions(document, { runAt })).toMatchObject({
    runAt: '2030-01-01T00:00:00.000Z',
  });
  expect(withSubmitOptions(document, { runAt: '2030-01-01T00:00:00+01:00' })).toMatchObject({
    runAt: '2030-01-01T00:00:00+01:00',
  });
  const before = Date.now();
  const at = Date.parse(withSubmitOptions(document, { delay: '2h' })['runAt'] as string);
  expect(at).toBeGreaterThanOrEqual(before + 7_200_000);
  expect(at).toBeLessThanOrEqual(Date.now() + 7_200_000);
});

test.each([
  { delay: 'soon' },
  { delay: -1 },
  { runAt: new Date(Number.NaN) },
  { runAt: '2030-01-01T00:00:00Z', delay: 5 },
])('%j is refused before anything is sent', (options) => {
  expect(() => withSubmitOptions(document, options)).toThrow(
    expect.objectContaining({ code: 'bad_input', path: '/runAt' }),
  );
});
