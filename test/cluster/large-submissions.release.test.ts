/** Floods of bytes: the leader admits what it has room for, and goes on leading. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { pauseMs } from '../rig/cluster/deadline.ts';
import { leaderRow, LONG_SESSIONS, startTestCluster } from '../rig/cluster/test-cluster.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

vi.setConfig({ testTimeout: 600_000 });

const MIB = 1024 * 1024;
const SETTINGS = { ...LONG_SESSIONS, leaderTtlMs: 10_000 };

interface Sent {
  readonly status: number;
  readonly refusals: number;
}

/** Comes again as often and as late as it is asked to. */
async function insist(url: string, id: string, body: string): Promise<Sent> {
  for (let refusals = 0; ; refusals += 1) {
    const response = await fetch(`${url}/api/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'millrace-job-id': id },
      body,
    });
    const text = await response.text();
    if (response.status !== 503 && response.status !== 207)
      return { status: response.status, refusals };
    // A list may be taken in part; as the shipped client does, all of it is sent again under the same ids.
    expect(refusedBy(JSON.parse(text))).toEqual(new Set(['overloaded']));
    await pauseMs(Number(response.headers.get('retry-after') ?? 1) * 1_000);
  }
}

function refusedBy(answer: unknown): ReadonlySet<string> {
  const problems = Array.isArray(answer)
    ? (answer as { error?: { code: string } }[]).flatMap(({ error }) => error ?? [])
    : [answer as { code: string }];
  return new Set(problems.map(({ code }) => code));
}

/** Small submissions, one after the other: how long each took. */
class Others {
  readonly tookMs: number[] = [];
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(url: string) {
    this.#done = this.#run(url);
  }

  async #run(url: string): Promise<void> {
    for (let at = 0; !this.#isOver; at += 1) {
      const startedMs = performance.now();
      const { status } = await insist(url, `small-${at}`, TINY);
      expect(status).toBe(201);
      this.tookMs.push(performance.now() - startedMs);
      await pauseMs(50);
    }
  }

  async end(): Promise<number> {
    this.#isOver = true;
    await this.#done;
    return Math.max(...this.tookMs);
  }
}

const TINY = JSON.stringify({ tasks: [{ id: 'a', executor: 'nobody' }] });

async function leaderUrl({ cluster }: TestCluster): Promise<string> {
  const [first] = cluster.nodes;
  const { url } = (await (await fetch(`${first!.plan.url}/api/v1/leader`)).json()) as {
    url: string;
  };
  return url;
}

async function residentMib(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]) / MIB;
}

function withHeap(mib: number): void {
  vi.stubEnv('NODE_OPTIONS', `--max-old-space-size=${mib}`);
  onTestFinished(() => void vi.unstubAllEnvs());
}

test('thirty documents of 14 MB are all accepted in one term, and small ones pass between them', async () => {
  withHeap(1_024);
  const fixture = await startTestCluster({ leaders: 2, workers: 0, slots: 0, settings: SETTINGS });
  const url = await leaderUrl(fixture);
  const before = await leaderRow(fixture);
  const input = 'x'.repeat(MIB - 100);
  const tasks = Array.from({ length: 14 }, (_, at) => ({
    id: `t${at}`,
    executor: 'nobody',
    input,
  }));
  const body = JSON.stringify({ tasks });
  const others = new Others(url);
  const startedMs = performance.now();
  const sent = await Promise.all(
    Array.from({ length: 30 }, (_, at) => insist(url, `large-${at}`, body)),
  );
  const tookMs = performance.now() - startedMs;
  const worstMs = await others.end();
  const refusals = sent.reduce((sum, each) => sum + each.refusals, 0);
  console.log({
    tookMs,
    worstMs,
    small: others.tookMs.length,
    refusals,
    rss: await residentMib(url),
  });
  expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([201]));
  expect(refusals).toBeGreaterThan(0);
  expect(await leaderRow(fixture)).toEqual(before);
  expect(worstMs).toBeLessThan(15_000);
  await fixture.cluster.stop();
});

test('a flood of lists neither fills the memory of a leader with little of it nor ends its term', async () => {
  withHeap(512);
  const fixture = await startTestCluster({ leaders: 2, workers: 0, slots: 0, settings: SETTINGS });
  const url = await leaderUrl(fixture);
  const before = await leaderRow(fixture);
  const body = `[${Array.from({ length: 1_000 }, () => TINY).join(',')}]`;
  const others = new Others(url);
  const startedMs = performance.now();
  const sent = await Promise.all(
    Array.from({ length: Number(process.env['LISTS'] ?? 60) }, (_, at) =>
      insist(url, `list-${at}`, body),
    ),
  );
  const tookMs = performance.now() - startedMs;
  const worstMs = await others.end();
  const refusals = sent.reduce((sum, each) => sum + each.refusals, 0);
  console.log({
    tookMs,
    worstMs,
    small: others.tookMs.length,
    refusals,
    rss: await residentMib(url),
  });
  expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([201]));
  expect(await leaderRow(fixture)).toEqual(before);
  expect(await residentMib(url)).toBeLessThan(900);
  expect(worstMs).toBeLessThan(15_000);
  await fixture.cluster.stop();
});
