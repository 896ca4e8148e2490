import { expect, test } from 'vitest';
import { checkedSettings } from '../settings.ts';
import { decodeJobOptions, encodeJobOptions } from './job-options.ts';
import { parseJobDocument } from './parse.ts';
import { failureDocument } from './when-failed.ts';

const settings = checkedSettings({});
const parse = (whenFailed: unknown) =>
  parseJobDocument({ whenFailed, tasks: [{ id: 'a', executor: 'echo' }] }, settings);

test('is kept as text, and makes a document with what it is given', () => {
  const given = { executor: 'alert', retry: { maxAttempts: 3 }, input: { $from: 'a' } };
  const { whenFailed } = parse(given).options;
  expect(JSON.parse(whenFailed ?? '')).toEqual(given);
  const options = { firstAt: null, batchOf: null, priority: null, runAt: null, startedBy: null };
  const text = encodeJobOptions({ ...parse(given).options, ...options });
  expect(decodeJobOptions(text).whenFailed).toBe(whenFailed);
  const document = failureDocument(
    whenFailed ?? '',
    { job: { id: 'j' } },
    { priority: 1, fairnessKey: 'acme' },
  );
  expect(parseJobDocument(document, settings)).toMatchObject({
    ...{ name: 'alert', priority: 1, options: { fairnessKey: 'acme', whenFailed: null } },
    tasks: [{ id: 'failed', executor: 'alert', options: { retry: { maxAttempts: 3 } } }],
  });
});

test('an input that is too large is left out, and none is null', () => {
  for (const more of [{ input: 'x'.repeat(40_000) }, {}])
    expect(JSON.parse(parse({ executor: 'alert', ...more }).options.whenFailed ?? '')).toEqual({
      executor: 'alert',
      input: null,
    });
});

test('an input that the hook could not take is left out, so that the hook runs', () => {
  const deep = JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) as unknown;
  const small = checkedSettings({ inputBytesMax: 1_024 });
  const cases = [
    [deep, settings],
    ['x'.repeat(900), small],
  ] as const;
  for (const [input, limits] of cases) {
    const given = { whenFailed: { executor: 'alert', input }, tasks: [{ id: 'a', executor: 'a' }] };
    const text = parseJobDocument(given, limits).options.whenFailed ?? '';
    expect(JSON.parse(text)).toEqual({ executor: 'alert', input: null });
    const about = { job: { id: 'j' }, error: { code: 'c', message: 'm' } };
    const made = failureDocument(text, about, { priority: 1, fairnessKey: null });
    expect(parseJobDocument(made, limits).tasks).toHaveLength(1);
  }
});

test.each([
  [
    'a number that JSON cannot have',
    { executor: 'a', input: { n: Infinity } },
    '/whenFailed/input/n',
  ],
  ['text', 'alert', '/whenFailed'],
  ['no executor', { input: 1 }, '/whenFailed/executor'],
  ['an executor of queries', { executor: 'sql.fragment' }, '/whenFailed/executor'],
  [
    'a retry that is none',
    { executor: 'a', retry: { maxAttempts: 0 } },
    '/whenFailed/retry/maxAttempts',
  ],
  ['an id', { executor: 'a', id: 'x' }, '/whenFailed/id'],
  ['dependencies', { executor: 'a', dependsOn: ['a'] }, '/whenFailed/dependsOn'],
  ['an unknown field', { executor: 'a', retries: 1 }, '/whenFailed/retries'],
])('%s is refused when the job is submitted', (_what, whenFailed, path) => {
  expect(() => parse(whenFailed)).toThrow(expect.objectContaining({ code: 'bad_input', path }));
});
