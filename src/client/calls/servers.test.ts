import { expect, test } from 'vitest';
import { callTargets } from './servers.ts';

test('each call has the target of its own server, path and query, whatever came before', () => {
  const targetOf = callTargets();
  const [first, second] = [new URL('http://a:1/under/'), new URL('https://[::1]:2')];
  const placesOf = (): unknown[] =>
    [
      targetOf(first, '/x'),
      targetOf(first, '/x'),
      targetOf(first, '/y'),
      targetOf(second, '/y'),
      targetOf(second, '/y', { page: ['1', 'ä'] }),
      targetOf(second, '/y'),
    ].map(({ protocol, hostname, port, path }) => [protocol, hostname, port, path]);
  const expected = [
    ['http:', 'a', 1, '/under/x'],
    ['http:', 'a', 1, '/under/x'],
    ['http:', 'a', 1, '/under/y'],
    ['https:', '::1', 2, '/y'],
    ['https:', '::1', 2, '/y?page=1&page=%C3%A4'],
    ['https:', '::1', 2, '/y'],
  ];
  expect(placesOf()).toEqual(expected);
  expect(placesOf()).toEqual(expected);
});
