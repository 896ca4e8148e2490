import { expect, test } from 'vitest';
import { withJobFields } from './job-fields.ts';

const document = { name: 'flow', keep: 'all', labels: { team: 'a', order: '7' }, tasks: [] };

test('what is said of one job wins over what its flow says', () => {
  expect(withJobFields(document, { keep: 'none', priority: 0 })).toEqual({
    ...{ ...document, keep: 'none', priority: 0 },
  });
});

test('labels of one job join those of the flow, and win over them', () => {
  expect(withJobFields(document, { labels: { team: 'b', tier: 'gold' } })).toEqual({
    ...{ ...document, labels: { team: 'b', order: '7', tier: 'gold' } },
  });
  expect(withJobFields({ tasks: [] }, { labels: { a: 'b' } })).toMatchObject({
    labels: { a: 'b' },
  });
});

test('what is undefined says nothing', () => {
  expect(withJobFields(document, { keep: undefined, labels: undefined })).toEqual(document);
});

test.each([
  ['of the job', document, { labels: ['x'] }, ['x']],
  ['of the flow', { labels: 'x' }, { labels: { a: 'b' } }, 'x'],
  ['of the flow, null', { labels: null }, { labels: { a: 'b' } }, null],
])('labels %s that are no object stay, so that they are refused', (_, given, own, labels) => {
  expect(withJobFields(given, own)).toMatchObject({ labels });
});

test('a key of any name is a key', () => {
  const own = { labels: JSON.parse('{"__proto__": "x"}') as object };
  expect(JSON.stringify(withJobFields({ labels: {} }, own))).toBe('{"labels":{"__proto__":"x"}}');
});
