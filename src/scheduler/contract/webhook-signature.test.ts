import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../test/rig/refusal.ts';
import { signWebhook, verifyWebhook } from './webhook-signature.ts';

const SECRET = `whsec_${Buffer.from('a key of twenty-four b..').toString('base64')}`;
const NOW = 1_800_000_000_000;
const BODY = '{"type":"job.succeeded","data":{"result":"ü"}}';
const signed = (secrets: readonly string[] = [SECRET], atMs: number = NOW) =>
  signWebhook(secrets, { id: 'webhook@1.2', atMs, body: BODY });
const verify = (headers: object, body: string | Uint8Array = BODY, secret = SECRET) =>
  verifyWebhook(secret, { headers: headers as Record<string, string>, body }, { nowMs: NOW });

test('it is the signature that the specification describes', () => {
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key)
    .update(`webhook@1.2.1800000000.${BODY}`)
    .digest('base64');
  expect(signed()).toEqual({
    'webhook-id': 'webhook@1.2',
    'webhook-timestamp': '1800000000',
    'webhook-signature': `v1,${expected}`,
  });
});

describe('a request is verified', () => {
  test('with headers of Node.js and of fetch, and a body in bytes', () => {
    expect(verify(signed())).toMatchObject({ type: 'job.succeeded' });
    expect(verify(new Headers({ ...signed() }))).toMatchObject({ type: 'job.succeeded' });
    expect(verify(signed(), Buffer.from(BODY))).toMatchObject({ type: 'job.succeeded' });
  });

  test('by the old secret and by the new one while both are in use', () => {
    const both = signed(['the old secret of ours', SECRET]);
    expect(verify(both)).toMatchObject({ type: 'job.succeeded' });
    expect(verify(both, BODY, 'the old secret of ours')).toMatchObject({ type: 'job.succeeded' });
    const request = { headers: { ...signed() }, body: BODY };
    expect(verifyWebhook(['another one', SECRET], request, { nowMs: NOW })).toBeDefined();
  });

  test('within the tolerance, in both directions', () => {
    const at = (ms: number) => verify(signed([SECRET], NOW + ms));
    expect(at(-299_000)).toBeDefined();
    expect(at(300_000)).toBeDefined();
    for (const ms of [-301_000, 301_000])
      expect(refusalOf(() => at(ms))).toMatchObject({ code: 'unauthenticated' });
    const request = { headers: { ...signed([SECRET], NOW - 2_000) }, body: BODY };
    const strict = { nowMs: NOW, toleranceMs: 1_000 };
    expect(refusalOf(() => verifyWebhook(SECRET, request, strict)).code).toBe('unauthenticated');
  });
});

const good = signed();
test.each([
  ['another body', good, BODY.replace('succeeded', 'failed')],
  ['another id', { ...good, 'webhook-id': 'webhook@1.3' }, BODY],
  ['another time', { ...good, 'webhook-timestamp': '1800000001' }, BODY],
  ['no time', { ...good, 'webhook-timestamp': 'soon' }, BODY],
  ['no signature', { ...good, 'webhook-signature': undefined }, BODY],
  ['an empty signature', { ...good, 'webhook-signature': '' }, BODY],
  ['a shorter signature', { ...good, 'webhook-signature': 'v1,AAAA' }, BODY],
  [
    'another version',
    { ...good, 'webhook-signature': good['webhook-signature'].replace('v1', 'v0') },
    BODY,
  ],
  ['several headers', { ...good, 'webhook-id': ['webhook@1.2', 'x'] }, BODY],
  ['nothing at all', {}, BODY],
  ['a signature by another secret', signed(['another secret of ours']), BODY],
  [
    'more signatures than anyone needs',
    {
      ...good,
      'webhook-signature': `${'v1,AAAA '.repeat(1_000)}${good['webhook-signature']}`,
    },
    BODY,
  ],
])('%s is refused', (_name, headers, body) => {
  expect(refusalOf(() => verify(headers, body))).toMatchObject({ code: 'unauthenticated' });
});

test('an empty secret verifies nothing', () => {
  for (const secret of ['', [], ['']]) {
    const request = { headers: { ...signed(['']) }, body: BODY };
    expect(refusalOf(() => verifyWebhook(secret, request, { nowMs: NOW })).code).toBe('bad_input');
  }
});
