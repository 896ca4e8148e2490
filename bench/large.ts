/** Jobs of many tasks on PostgreSQL: what they cost others when they come in, and a long chain from end to end. */
import { HttpClient } from '../src/client/index.ts';
import { pause } from './cluster/contender.ts';
import { BenchDatabase } from './cluster/database.ts';
import { Folder, startLeader, startWorker } from './cluster/node.ts';
import type { RunningNode } from './cluster/node.ts';
import { canWeigh, rssBytes } from './cluster/proc.ts';
import type { BenchProcess } from './cluster/processes.ts';
import { figure, quantile } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';

const MIB = 2 ** 20;
/** Between two small submissions, and between two looks at the chain. */
const EVERY_MS = 5;
const LOOK_MS = 500;

interface Sizes {
  readonly tasks: number;
  readonly rounds: number;
  readonly links: number;
}

export const large: Benchmark = {
  name: 'large',
  summary:
    'a job of 100,000 tasks: the longest wait of small submissions beside it; a chain of as many',
  settings: {
    cluster: '1 leader, 1 worker with 8 slots for the chain, PostgreSQL with fsync on',
    small: `a job of one task each ${EVERY_MS} ms over HTTP, one at a time, from submit to the answer`,
    chain: 'echo tasks, each of which depends on the one before',
  },
  async run(quick, say) {
    const links = Number(process.env['BENCH_JOBS'] ?? 100_000);
    const sizes: Sizes = quick
      ? { tasks: 2_000, rounds: 1, links: 50 }
      : { tasks: 100_000, rounds: 5, links };
    const database = await BenchDatabase.start('plain');
    const folder = new Folder();
    const running: BenchProcess[] = [];
    try {
      const leader = await startLeader({ database: await database.create('millrace'), folder });
      running.push(leader.process);
      const figures = await besideLarge(leader, sizes, say);
      const slots = { nodeId: 'w-1', slots: 8, folder };
      running.push(await startWorker({ servers: [leader.grpc], ...slots }));
      return [...figures, ...(await chain(leader, sizes.links, say))];
    } finally {
      for (const process of running.toReversed()) await process.end();
      await database.stop();
      folder.remove();
    }
  },
};

const NOBODY = 'nobody';

async function besideLarge(
  { url }: RunningNode,
  { tasks, rounds }: Sizes,
  say: (line: string) => void,
): Promise<readonly Figure[]> {
  const document = {
    name: 'large',
    tasks: Array.from({ length: tasks }, (_, no) => ({ id: `t${no}`, executor: NOBODY })),
  };
  const client = new HttpClient({ server: url });
  const alone: number[] = [];
  const longest: number[] = [];
  const taken: number[] = [];
  try {
    // The first round warms up and is not counted.
    for (let round = 0; round <= rounds; round += 1) {
      const calm = await small(client, pause(1_000));
      const startedAt = performance.now();
      const submitting = client.submitDocument(document);
      const beside = await small(client, submitting);
      const tookMs = performance.now() - startedAt;
      const { id } = await submitting;
      await client.cancel(id);
      say(
        `  round ${round} of ${rounds}: ${(tookMs / 1_000).toFixed(2)} s, longest wait ${Math.max(...beside).toFixed(0)} ms, alone ${Math.max(...calm).toFixed(0)} ms`,
      );
      if (round === 0) continue;
      alone.push(Math.max(...calm));
      longest.push(Math.max(...beside));
      taken.push(tookMs / 1_000);
    }
  } finally {
    client.end();
  }
  return [
    figure(`a job of ${tasks} tasks, from submit to the answer`, 's', taken),
    figure('longest small submission beside it', 'ms', longest),
    figure('longest small submission alone, within a second', 'ms', alone),
  ];
}

/** Milliseconds that each small submission takes until the promise settles. */
async function small(client: HttpClient, until: Promise<unknown>): Promise<readonly number[]> {
  const end = new AbortController();
  const over = until.finally(() => end.abort());
  const times: number[] = [];
  while (!end.signal.aborted) {
    const startedAt = performance.now();
    await client.submitDocument({ name: 'small', tasks: [{ id: 't', executor: NOBODY }] });
    times.push(performance.now() - startedAt);
    await pause(EVERY_MS);
  }
  await over;
  return times;
}

async function chain(
  { url, process: { pid } }: RunningNode,
  links: number,
  say: (line: string) => void,
): Promise<readonly Figure[]> {
  const client = new HttpClient({ server: url });
  const tasks = Array.from({ length: links }, (_, no) => ({
    ...{ id: `t${no}`, executor: 'echo', input: no },
    ...(no === 0 ? {} : { dependsOn: [`t${no - 1}`] }),
  }));
  try {
    const startedAt = performance.now();
    await client.submitDocument({ name: 'chain', tasks });
    const memory: number[] = [];
    for (;;) {
      memory.push(rssBytes(pid) / MIB);
      // To read the job itself would read all its tasks.
      const listed = await fetch(`${url}/api/v1/jobs?name=chain&limit=1`);
      const { jobs } = (await listed.json()) as { readonly jobs: readonly { state: string }[] };
      const state = jobs[0]?.state;
      if (state === 'succeeded') break;
      if (state === 'failed' || state === 'cancelled') throw new Error(`the chain is ${state}`);
      await pause(LOOK_MS);
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    say(`  a chain of ${links} tasks took ${seconds.toFixed(1)} s`);
    const half = memory.length >> 1;
    return [
      figure(`a chain of ${links} tasks, for each task`, 'ms', [(seconds * 1_000) / links]),
      ...(canWeigh
        ? [
            figure('memory of the leader, median of the first half', 'MiB', [
              quantile(memory.slice(0, half + 1), 0.5),
            ]),
            figure('memory of the leader, median of the second half', 'MiB', [
              quantile(memory.slice(half), 0.5),
            ]),
          ]
        : []),
    ];
  } finally {
    client.end();
  }
}
