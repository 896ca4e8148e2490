import { expect, test } from 'vitest';
import { MillraceError } from './errors.ts';

const code = 'bad_query';

test('an error is one text of sentences', () => {
  const parts = { what: 'There is no table x.', why: 'It was not named.', todo: 'Name it.' };
  const { message } = new MillraceError({ code, ...parts, path: '/sql' });
  expect(message).toBe('/sql: There is no table x. It was not named. Name it.');
});

test('a caret line stays aligned, without text after it', () => {
  const why = '\nselect x\n       ^';
  const { message } = new MillraceError({ code, what: '1:8: no x', why, todo: 'Name it.' });
  expect(message).toBe('1:8: no x\nselect x\n       ^\nName it.');
});
