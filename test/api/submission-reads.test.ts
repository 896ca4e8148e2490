/** What a submission costs the store: one look-up of an id that the caller chose, and together for a list. */
import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { uuidv7 } from 'uuidv7';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HttpClient } from '../../src/client/index.ts';
import { isMillraceError } from '../../src/scheduler/core/index.ts';
import type { Store } from '../../src/scheduler/store/index.ts';
import { type ApiBench, openApi } from '../rig/api.ts';
import type { ScriptedWorker } from '../rig/lead.ts';

const document = { name: 'reads', tasks: [{ id: 'a', executor: 'echo', input: 1 }] };
const OTHERS: ReadonlySet<string> = new Set(['commit', 'renew', 'kind', 'clustered', 'then']);

let bench: ApiBench;
let reads: string[];
let client: HttpClient;
let relay: Relay | null;
let worker: ScriptedWorker | null;

/** Notes every call that reads. */
function counted(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (typeof name === 'string' && !OTHERS.has(name)) reads.push(name);
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
}

/** Carries bytes to the API; the first answers are lost on their way back. */
class Relay {
  readonly #server: Server;
  readonly #sockets: Set<Socket> = new Set();
  lost = 0;

  constructor(url: string, losses: number) {
    const { hostname, port } = new URL(url);
    this.#server = createServer((near) => {
      const far = connect(Number(port), hostname);
      for (const socket of [near, far]) {
        this.#sockets.add(socket.on('error', () => {}));
      }
      near.pipe(far);
      near.on('close', () => far.destroy());
      far.on('data', (chunk: Buffer) => {
        if (this.lost >= losses) return void near.write(chunk);
        this.lost += 1;
        near.destroy();
      });
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

async function throughRelay(losses: number): Promise<HttpClient> {
  relay = new Relay(bench.api.url, losses);
  client.end();
  client = new HttpClient({ server: await relay.listen() });
  return client;
}

/** Runs the oldest job that waits to its end, so that the leader's memory forgets it. */
async function finish(): Promise<void> {
  worker ??= await bench.worker();
  const [assignment] = await worker.poll(1);
  if (assignment === undefined) return expect.fail('no work came');
  await worker.complete(assignment.lease, 1);
}

beforeEach(async () => {
  reads = [];
  relay = null;
  worker = null;
  bench = await openApi({}, {}, counted);
  client = new HttpClient({ server: bench.api.url });
  reads.length = 0;
});
afterEach(async () => {
  client.end();
  await relay?.close();
  await bench.close();
});

describe('a first submission through the shipped client', () => {
  test('looks its id up once, and reads nothing else', async () => {
    expect(await client.submitDocument(document)).toMatchObject({ state: 'queued', isNew: true });
    expect(reads).toEqual(['jobRow']);
  });

  test('looks up the ids of a list with one question to the store', async () => {
    const answers = await client.submitDocuments(Array.from({ length: 1_000 }, () => document));
    expect(answers.filter((each) => !isMillraceError(each) && each.isNew)).toHaveLength(1_000);
    expect(reads).toEqual(['takenIds']);
  });

  test('looks up its idempotency key and its id', async () => {
    await client.submitDocument({ ...document, idempotencyKey: 'once' });
    expect(reads).toEqual(['jobIdForKey', 'jobRow']);
  });
});

test('an id that the server makes is not looked up', async () => {
  expect(await bench.call('POST', '/api/v1/jobs', document)).toMatchObject({ status: 201 });
  expect(reads).toEqual([]);
});

describe('a submission that is repeated because its answer was lost', () => {
  test('makes one job, and reports it as new', async () => {
    const { id, isNew } = await (await throughRelay(1)).submitDocument(document);
    expect(relay?.lost).toBe(1);
    expect(isNew).toBe(true);
    expect((await bench.store.jobs(0, { limit: 10 })).map((job) => job.id)).toEqual([id]);
  });

  test('makes one job of each document of a list', async () => {
    const answers = await (await throughRelay(2)).submitDocuments([document, document]);
    expect(relay?.lost).toBe(2);
    const ids = answers.map((each) => (isMillraceError(each) ? each.code : each.id));
    const stored = await bench.store.jobs(0, { limit: 10 });
    expect(stored.map((job) => job.id).toSorted()).toEqual(ids.toSorted());
  });
});

test('an id that the caller chose is looked up: it may be of a job that has ended', async () => {
  const { id } = await client.submitDocument(document);
  await finish();
  reads.length = 0;
  expect(await client.submitDocument(document, { jobId: id })).toMatchObject({ id, isNew: false });
  expect(reads).toEqual(['jobRow']);
});

describe('a caller that sends the id of another job', () => {
  const submitAgain = (id: string, body: object = document) =>
    bench.call('POST', '/api/v1/jobs', body, { 'millrace-job-id': id });

  test('is answered with that job, running or over, and the leader loads nothing again', async () => {
    const { id } = await client.submitDocument(document);
    expect(await submitAgain(id)).toMatchObject({ status: 200, body: { id, state: 'queued' } });
    await finish();
    for (let again = 0; again < 5; again += 1) {
      expect(await submitAgain(id)).toMatchObject({ status: 200, body: { state: 'succeeded' } });
    }
    expect(await bench.store.jobs(0, { limit: 10 })).toHaveLength(1);
    expect(bench.led.leader.figures().reloads).toBe(0);
  });

  test('gets the jobs of a list that are there, and the new ones are made', async () => {
    const list = Array.from({ length: 20 }, () => document);
    const id = uuidv7();
    await submitAgain(id, list);
    for (const _ of list) await finish();
    const answer = await submitAgain(id, [...list, document]);
    expect(answer).toMatchObject({ status: 201 });
    const states = (answer.body as unknown as { readonly state: string }[]).map(
      (each) => each.state,
    );
    expect(states).toEqual([...list.map(() => 'succeeded'), 'queued']);
    expect(bench.led.leader.figures().reloads).toBe(0);
  });
});
