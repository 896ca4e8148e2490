/** Requests are admitted by what they take in memory, before they are read. */
import { request } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { type ApiBench, echo, openApi } from '../../../test/rig/api.ts';
import { ByteBudget } from '../../kit/index.ts';
import { settled } from '../../../test/rig/virtual-clock.ts';

let bench: ApiBench;
afterEach(() => bench.close());

const KIB = 1024;
/** Room for one large request of 100 KiB and a few small ones. */
const budget = (): ByteBudget =>
  new ByteBudget({ smallMax: 64 * KIB, largeMax: 500 * KIB, largeFrom: 40 * KIB });

interface Head {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Announces a body and sends some of it. */
function begin(
  headers: object,
  some: string,
): { head: Promise<Head>; end: (rest: string) => void } {
  const outgoing = request(`${bench.api.url}/api/v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
  });
  const head = new Promise<Head>((resolve, reject) => {
    outgoing.on('error', reject).on('response', (incoming) => {
      incoming.resume();
      const { 'retry-after': retryAfter } = incoming.headers;
      resolve({ status: incoming.statusCode ?? 0, retryAfter });
    });
  });
  outgoing.write(some);
  return { head, end: (rest) => void outgoing.end(rest) };
}

const padded = (bytes: number): string => {
  const text = JSON.stringify({ tasks: [echo('a')] });
  return text + ' '.repeat(bytes - text.length);
};

test('a body that finds no room is refused with 503 and Retry-After before it is sent', async () => {
  const intake = budget();
  bench = await openApi({ intake });
  const body = padded(100 * KIB);
  const first = begin({ 'content-length': String(body.length) }, body.slice(0, 10));
  while (intake.heldBytes === 0) await settled();
  const second = begin({ 'content-length': String(body.length) }, body.slice(0, 10));
  expect(await second.head).toEqual({ status: 503, retryAfter: '1' });
  second.end(body.slice(10));
  // Small ones have room of their own.
  expect((await bench.call('POST', '/api/v1/jobs', { tasks: [echo('a')] })).status).toBe(201);
  first.end(body.slice(10));
  expect((await first.head).status).toBe(201);
  expect((await bench.call('POST', '/api/v1/jobs', body)).status).toBe(201);
  while (intake.heldBytes > 0) await settled();
});

test('bytes of a body without a length are counted as they arrive', async () => {
  const intake = budget();
  bench = await openApi({ intake });
  const body = padded(100 * KIB);
  const first = begin({ 'transfer-encoding': 'chunked' }, body.slice(0, 90 * KIB));
  while (intake.heldBytes < 4 * 90 * KIB) await settled();
  const second = begin({ 'transfer-encoding': 'chunked' }, body.slice(0, 90 * KIB));
  expect((await second.head).status).toBe(503);
  second.end('');
  first.end(body.slice(90 * KIB));
  expect((await first.head).status).toBe(201);
});

test('a list counts for its documents as well as for its bytes', async () => {
  const intake = budget();
  bench = await openApi({ intake });
  const list = (length: number): object[] => Array.from({ length }, () => ({ tasks: [echo('a')] }));
  const [one, two] = [
    bench.call('POST', '/api/v1/jobs', list(60)),
    bench.call('POST', '/api/v1/jobs', list(60)),
  ];
  const statuses = (await Promise.all([one, two])).map(({ status }) => status);
  expect(statuses).toContain(201);
  // Each fits alone, whatever the other does.
  expect(statuses.every((status) => status === 201 || status === 503)).toBe(true);
  expect((await bench.call('POST', '/api/v1/jobs', list(60))).status).toBe(201);
  while (intake.heldBytes > 0) await settled();
});
