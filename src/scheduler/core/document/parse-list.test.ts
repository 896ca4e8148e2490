import { expect, test } from 'vitest';
import { checkedSettings } from '../settings.ts';
import { parseJobDocument } from './parse.ts';
import { listParser } from './parse-list.ts';

const settings = checkedSettings({ inputBytesMax: 1_000 });

const job = (task: object, rest: object = {}): unknown => ({
  name: 'mail',
  ...rest,
  tasks: [{ id: 'a', executor: 'echo', ...task }],
});

const outcome = (parse: () => unknown): unknown => {
  try {
    return parse();
  } catch (error) {
    return String(error);
  }
};

/** Neighbours that differ in one thing, in both orders, and what looks alike and is not. */
const documents: readonly unknown[] = [
  job({ input: { n: 1 } }),
  job({ input: { n: 2 } }),
  job({}),
  job({ input: null }),
  job({ input: 7 }),
  job({ input: { $from: 'a' } }),
  job({ input: { $from: 'b' } }),
  job({ input: { n: 3 } }),
  job({ input: 'x'.repeat(settings.inputBytesMax + 1) }),
  job({ input: { n: 4 } }, { priority: 0 }),
  job({ input: { n: 5 } }, { priority: 1 }),
  job({ input: { n: 5 } }, { priority: 9 }),
  job({ input: { n: 5 } }, { priority: 9 }),
  job({ input: { n: 6 }, executor: 'other' }),
  job({ input: { n: 6 }, executor: undefined }),
  job({ input: { n: 6 }, executor: undefined }),
  job({ input: { n: 7 }, retry: { maxAttempts: 2 } }),
  job({ input: { n: 8 }, retry: { maxAttempts: 3 } }),
  job({ input: { n: 8 } }, { labels: { a: 'b' } }),
  job({ input: { n: 8 } }, { labels: { a: 'c' } }),
  job({ input: { n: 8 }, extra: 1 }),
  { name: 'mail', tasks: [] },
  { name: 'mail' },
  { name: 'mail', tasks: [null] },
  null,
  [],
  job({ input: { n: 9 } }),
];

test('a document of a list is read as it is alone, whatever stands before it', () => {
  for (const before of documents) {
    for (const document of documents) {
      const parse = listParser(settings);
      outcome(() => parse(before));
      const alone = outcome(() => parseJobDocument(document, settings));
      expect(outcome(() => parse(document))).toEqual(alone);
      expect(outcome(() => parse(document))).toEqual(alone);
    }
  }
});

test('an input is weighed together with what stands around it, and its depth is bounded', () => {
  const tight = checkedSettings({ documentBytesMax: 200, inputBytesMax: 150 });
  let deep: unknown = 1;
  for (let level = 0; level < 201; level += 1) deep = [deep];
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  const inputs = [1, 60, 100, 110, 120, 125, 130, 140, 160].map((size) => 'x'.repeat(size));
  const given = [...inputs, deep, [deep], loop, 2n, undefined, { n: undefined }];
  for (const before of given) {
    for (const input of given) {
      const parse = listParser(tight);
      outcome(() => parse(job({ input: before })));
      const alone = outcome(() => parseJobDocument(job({ input }), tight));
      expect(outcome(() => parse(job({ input })))).toEqual(alone);
    }
  }
});

test('what a document inherits is not taken for its own', () => {
  const plain = { name: 'mail', tasks: [{ id: 'a', executor: 'echo' }] };
  const heir = Object.assign(Object.create({ name: 'mail' }) as object, { tasks: plain.tasks });
  for (const [before, document] of [
    [plain, heir],
    [heir, plain],
  ]) {
    const parse = listParser(settings);
    outcome(() => parse(before));
    expect(outcome(() => parse(document))).toEqual(
      outcome(() => parseJobDocument(document, settings)),
    );
  }
});
