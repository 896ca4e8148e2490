import { service as healthService } from 'grpc-health-check';
import { expect, onTestFinished, test } from 'vitest';
import type { NodeId } from '../../scheduler/core/index.ts';
import { identify } from '../../../test/rig/identify.ts';
import { LeaderChannel, ShuffleChannel } from '../../edge/grpc/index.ts';
import type { PartitionChunk } from '../../scheduler/contract/index.ts';
import { shuffleSource } from '../../sql/shuffle/index.ts';
import { QUERY, bytes, keep, openStore } from '../../../test/rig/shuffle-node.ts';
import { Listener } from './listener.ts';
import type { ListenerOptions } from './listener.ts';

const TOKEN = 'a-token-of-the-cluster';

async function listen(given: Partial<ListenerOptions> = {}): Promise<Listener> {
  const listener = await Listener.open({
    nodeId: 'w' as NodeId,
    listen: '127.0.0.1:0',
    advertise: undefined,
    servers: ['127.0.0.1:7071'],
    token: null,
    tokenFile: undefined,
    insecure: false,
    tlsCert: undefined,
    tlsKey: undefined,
    tlsCa: undefined,
    httpPort: undefined,
    metrics: () => '',
    ...given,
  });
  onTestFinished(() => listener.close());
  return listener;
}

const session = (shownAs: string) => ({ shownAs });

async function health(listener: Listener): Promise<unknown> {
  const channel = new LeaderChannel({ addresses: [`127.0.0.1:${listener.port}`], tls: null });
  onTestFinished(() => channel.close());
  const method = healthService['Check']!;
  const answer = await channel.unary(method, { service: '' }, { deadlineMs: 5_000 });
  return (answer as { readonly status: string }).status;
}

test('health is NOT_SERVING while there is no session', async () => {
  const listener = await listen();
  expect(await health(listener)).toBe('NOT_SERVING');
  listener.showSession(session('s1'));
  expect(await health(listener)).toBe('SERVING');
  listener.showSession(null);
  expect(await health(listener)).toBe('NOT_SERVING');
});

test('identity names the session, and an ended one until there is a new one', async () => {
  const listener = await listen();
  const address = listener.address ?? '';
  expect(await identify(address)).toBe('');
  listener.showSession(session('s1'));
  expect(await identify(address)).toBe('s1');
  listener.showSession(null);
  expect(await identify(address)).toBe('s1');
  listener.showSession(session('s2'));
  expect(await identify(address)).toBe('s2');
});

test('with a token, identity requires the same token, and health does not', async () => {
  const listener = await listen({ token: TOKEN });
  listener.showSession(session('s1'));
  const address = listener.address ?? '';
  expect(await identify(address, TOKEN)).toBe('s1');
  expect(await identify(address, 'another-token-altogether')).toBeNull();
  expect(await identify(address)).toBeNull();
  expect(await health(listener)).toBe('SERVING');
});

test.each([
  ['on loopback with a leader on loopback', {}, /^127\.0\.0\.1:\d+$/],
  ['on loopback with a leader elsewhere', { servers: ['10.0.0.5:7071'] }, null],
  ['on every address', { listen: '0.0.0.0:0', insecure: true }, null],
  ['under a name', { advertise: 'box.example', servers: ['10.0.0.5:7071'] }, /^box\.example:\d+$/],
])(
  'it advertises an address only where the leader can find it: %s',
  async (_name, given, shown) => {
    const { address } = await listen(given);
    if (shown === null) expect(address).toBeNull();
    else expect(address).toMatch(shown);
  },
);

test('it does not listen on other addresses without TLS and a token', async () => {
  await expect(listen({ listen: '0.0.0.0:0' })).rejects.toMatchObject({ code: 'bad_setting' });
});

test('outputs of queries require the token of the cluster', async () => {
  const store = await openStore();
  await keep(store, 's0.0', [[bytes(100)]]);
  const listener = await listen({ token: TOKEN, shuffle: () => shuffleSource(store) });
  const fetched = async (token: string | null): Promise<readonly PartitionChunk[]> => {
    const channel = new ShuffleChannel({ tls: null, token: () => token });
    onTestFinished(() => channel.close());
    const key = { query: QUERY, stage: 0, mapTask: 0, attempt: 0, fence: 1, partition: 0 };
    const range = { ...key, startOffset: 0, maxBytes: 0, layoutVersion: 1, minEpoch: 1 };
    const chunks: PartitionChunk[] = [];
    const { signal } = new AbortController();
    for await (const chunk of channel.fetch(listener.address ?? '', range, signal)) {
      chunks.push(chunk);
    }
    return chunks;
  };
  expect(await fetched(TOKEN)).toMatchObject([{ endOffset: 100 }]);
  for (const token of [null, 'another-token-altogether']) {
    await expect(fetched(token)).rejects.toMatchObject({ code: 'unauthenticated' });
  }
});
