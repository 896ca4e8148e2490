/** Real file systems that run full, under the outputs of a worker and under the store of a single node. */
import { describe, expect, onTestFailed, test } from 'vitest';
import { scratch } from '../sql/scratch.ts';
import { pauseMs } from '../rig/cluster/deadline.ts';
import { millrace } from '../rig/cluster/command.ts';
import { BY_NETWORK, QueryCluster } from '../rig/cluster/query-cluster.ts';
import { canMount, freeRoom, smallDisk, takeRoom } from '../rig/small-disk.ts';
import { expectSoon, until } from '../rig/until.ts';
import { expectCleanFolder, single } from '../rig/cluster/single.ts';
import type { Single } from '../rig/cluster/single.ts';

const here = scratch();

/** Its first stage writes some 30 MB, in four tasks. */
const WIDE = `SELECT h % 10 AS g, count(*) AS n, sum(c) AS s
  FROM (SELECT hash(o_orderkey, r) AS h, count(*) AS c FROM orders, range(150) t(r) GROUP BY 1) q
  GROUP BY 1 ORDER BY 1`;

async function clusterWithSmallDisks(disks: readonly (number | null)[]): Promise<QueryCluster> {
  const fixture = await QueryCluster.start(here, { workers: 0 });
  const { cluster } = fixture;
  for (const [at, mib] of disks.entries())
    if (mib !== null) smallDisk(cluster.file(`w-${at + 1}`), mib);
  for (const _ of disks) await cluster.startWorker({ slots: 2, args: BY_NETWORK });
  return fixture;
}

interface NodeSeen {
  readonly id: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

describe.runIf(canMount)('the disk of a worker is full', () => {
  test('its fragments run on another worker, and the node reports what it is short of', async () => {
    const fixture = await clusterWithSmallDisks([4, null]);
    const { cluster } = fixture;
    const id = await fixture.submit(WIDE);
    const retried = await fixture.event(id, ({ kind }) => kind === 'retried');
    expect(retried).toMatchObject({ node: 'w-1', detail: { code: 'disk_full' } });
    const nodes = await expectSoon(async () => {
      const seen = (await cluster.client.nodes()) as unknown as readonly NodeSeen[];
      expect(seen.find((node) => node.id === 'w-1')?.capabilities['pressure']).toBe('disk');
      return seen;
    });
    expect(nodes.find((node) => node.id === 'w-2')?.capabilities['pressure']).toBeUndefined();
    const url = cluster.nodes[0]?.plan.url ?? '';
    expect((await millrace(['nodes', '--server', url])).out).toMatch(/w-1 .*short of disk/);
    await fixture.expectRight(id, WIDE);
    const tasks = [...(await fixture.tasks(id)).values()];
    expect(tasks.filter(({ attempt }) => attempt > 1).map(({ node }) => node)).toContain('w-2');
    // As long as it is short of room it gets no fragments that others can run.
    const again = await fixture.submit(WIDE);
    await fixture.expectRight(again, WIDE);
    expect(new Set([...(await fixture.tasks(again)).values()].map(({ node }) => node))).toEqual(
      new Set(['w-2']),
    );
    await fixture.end();
  });

  test('a query that fits nowhere fails with the reason, and the next one that fits succeeds', async () => {
    const fixture = await clusterWithSmallDisks([4]);
    const id = await fixture.submit(WIDE);
    expect(await fixture.ended(id)).toMatchObject({
      state: 'failed',
      error: {
        code: 'dead',
        message: expect.stringMatching(/disk_full: There is no space left/) as string,
      },
    });
    const small = 'SELECT count(*) AS n FROM lineitem';
    await fixture.expectRight(await fixture.submit(small), small, {});
    await fixture.end();
  });
});

interface Sent {
  readonly id: string;
  readonly status: number;
  readonly problem: { readonly code?: string; readonly detail?: string };
}

/** One try, no retries. */
async function send({ url }: Single, id: string, kilobytes: number): Promise<Sent> {
  const value = id.padEnd(kilobytes * 1_000, 'x');
  const tasks = [{ id: 'a', executor: 'note', input: { value } }];
  const response = await fetch(`${url}/api/v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'millrace-job-id': id },
    body: JSON.stringify({ tasks }),
  });
  return { id, status: response.status, problem: (await response.json()) as Sent['problem'] };
}

async function fillUp(node: Single, sent: Sent[]): Promise<Sent> {
  for (let at = 0; at < 1_000; at += 1) {
    const answer = await send(node, `fill-${at}`, 200);
    sent.push(answer);
    if (answer.status !== 201) return answer;
  }
  throw new Error('the disk did not run full');
}

const isAcknowledged = ({ status }: Sent): boolean => status === 201;

/** Every job that was acknowledged is there. While the file is opened again there is no answer at all. */
async function expectKept({ url, client }: Single, sent: readonly Sent[]): Promise<void> {
  for (const { id } of sent.filter(isAcknowledged)) {
    client.acknowledged.add(id);
    const status = await until(async () => {
      const answer = await fetch(`${url}/api/v1/jobs/${id}`);
      return answer.status !== 503 && answer.status;
    }, `an answer about ${id}`);
    expect([id, status]).toEqual([id, 200]);
  }
}

describe.runIf(canMount)('the disk of the store is full', () => {
  test('writes are refused with the reason, nothing acknowledged is lost, and room ends it', async () => {
    const node = await single();
    smallDisk(node.data, 80);
    takeRoom(node.data, 56);
    const up = node.start();
    onTestFailed(() => console.error(up.output.text()));
    await up.line(/^millrace ready/);
    const sent: Sent[] = [];
    const refused = await fillUp(node, sent);
    expect(refused.problem.detail).toContain('The disk of the DuckDB file is full.');
    for (let at = 0; at < 20; at += 1) {
      const again = await send(node, `again-${at}`, 200);
      sent.push(again);
      expect(again.status).toBe(503);
      expect(again.problem.detail).toContain('The disk of the DuckDB file is full.');
      await pauseMs(100);
    }
    expect((await fetch(`${node.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${node.url}/readyz`)).status).toBe(503);
    await expectKept(node, sent);
    freeRoom(node.data);
    const startedMs = performance.now();
    await expectSoon(async () => {
      sent.push(await send(node, `late-${sent.length}`, 200));
      expect(sent.at(-1)?.status).toBe(201);
    });
    const tookMs = Math.round(performance.now() - startedMs);
    console.log(`${sent.length} jobs sent; written again ${tookMs} ms after there was room`);
    expect((await fetch(`${node.url}/readyz`)).status).toBe(200);
    await expectKept(node, sent);
    await up.stop();
    const again = node.start();
    await again.line(/^millrace ready/);
    await expectKept(node, sent);
    for (const { id } of sent.filter(isAcknowledged)) await node.client.waitForJob(id);
    await again.stop();
    await expectCleanFolder(node);
  });
});
