import { describe, expect, test } from 'vitest';
import { parseTokens } from './parse-tokens.ts';

const A = 's3cret-a-0123456789';
const B = 's3cret-b-0123456789';

test('lines hold role, token and perhaps a name; comments and empty lines do not count', () => {
  expect(parseTokens(`# ours\n\nadmin ${A} ops\r\n  worker\t${B}\n`, 't')).toEqual([
    { role: 'admin', token: A, name: 'ops' },
    { role: 'worker', token: B, name: 'worker (line 4)' },
  ]);
});

test('JSON is a list, or an object with one', () => {
  const tokens = [
    { role: 'read', token: A, name: 'the dashboard' },
    { role: 'submit', token: B },
  ];
  const read = [tokens[0], { ...tokens[1], name: 'submit (entry 2)' }];
  expect(parseTokens(JSON.stringify(tokens), 't')).toEqual(read);
  expect(parseTokens(JSON.stringify({ tokens }), 't')).toEqual(read);
});

describe('a wrong file is refused by place, never by content', () => {
  test.each([
    ['', 'contains no token'],
    ['# nothing\n', 'contains no token'],
    ['[]', 'contains no token'],
    [A, 'line 1 does not begin with a role'],
    [`# x\n${A} admin`, 'line 2 does not begin with a role'],
    ['admin', 'line 1 has no token'],
    ['admin s3cret', 'the token in line 1 has fewer than 16 characters'],
    [`admin ${A}é`, 'line 1 has no token, or one with characters'],
    [`admin ${A} a b`, 'line 1 has more than role, token and name'],
    [`admin ${A} a\nread ${A} b`, 'token 2 is a duplicate'],
    [`[{"role": "admin", "token": "${A}"`, 'not valid JSON'],
    [`{"role": "admin", "token": "${A}"}`, 'must be a list'],
    [`["${A}"]`, 'entry 1 must be an object'],
    [`[{"role": "boss", "token": "${A}"}]`, 'entry 1 does not begin with a role'],
    [`[{"role": "admin", "token": 7}]`, 'entry 1 has no token'],
    [`[{"role": "admin", "token": "${A}", "name": 7}]`, 'the name in entry 1 is not text'],
  ])('%j', (text, why) => {
    let message = '';
    try {
      parseTokens(text, 'tokens.txt');
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain('The token file tokens.txt is not valid');
    expect(message).toContain(why);
    expect(message).not.toContain('s3cret');
  });
});
