import { expect, test } from 'vitest';
import { channelOptions } from './channel.ts';
import type { ChannelSettings } from './channel.ts';

const TOKEN = 'a-token-of-the-cluster';

function options(given: Partial<ChannelSettings>) {
  return channelOptions({
    servers: ['127.0.0.1:7071'],
    token: undefined,
    tokenFile: undefined,
    insecure: false,
    pollMs: 30_000,
    sessionTtlMs: 20_000,
    tlsCert: undefined,
    tlsKey: undefined,
    tlsCa: undefined,
    ...given,
  });
}

test('a worker without the address of a server gets an error that says what is missing', () => {
  expect(() => options({ servers: [] })).toThrow('Set at least one with --server');
});

test('a token is sent unencrypted to another machine only if that is allowed explicitly', () => {
  expect(options({ token: TOKEN })).toMatchObject({ token: TOKEN, tls: null });
  const servers = ['127.0.0.1:7071', 'leader.example:7071'];
  expect(() => options({ token: TOKEN, servers })).toThrow(
    'would be sent to leader.example:7071 unencrypted',
  );
  expect(() => options({ token: TOKEN, servers })).not.toThrow(TOKEN);
  expect(options({ token: TOKEN, servers, insecure: true })).toMatchObject({ tls: null });
});

test('the options can be sent to a thread', () => {
  const made = options({ token: TOKEN });
  expect(structuredClone(made)).toEqual(made);
});
