import { join } from 'node:path';
import type { JobsPage } from '../../src/client/index.ts';
import { openDuckdbStore } from '../../src/scheduler/store/index.ts';
import { auditStore } from './audit.ts';
import type { Contender } from './contender.ts';
import { Folder, GrpcSubmitter, jobOf, startEmbedded } from './node.ts';
import { childrenOf } from './proc.ts';

/** Each look reads a little from the same file. */
const LOOK_EVERY_MS = 25;

/** One `millrace up`: a leader on a DuckDB file, with the worker process that it starts itself. */
export async function startEmbeddedMillrace(slots: number): Promise<Contender> {
  const folder = new Folder();
  const node = await startEmbedded(folder, slots);
  const workers = childrenOf(node.process.pid);
  const client = new GrpcSubmitter([node.grpc]);
  const text = async (path: string): Promise<string> => (await fetch(node.url + path)).text();
  const signalWorkers = (signal: NodeJS.Signals): void => {
    for (const pid of workers) process.kill(pid, signal);
  };
  const isAtRest = async (): Promise<boolean> => {
    const metrics = await text('/metrics');
    const live = [...metrics.matchAll(/^millrace_(?:backlog|tasks\{.*\}) (\d+)$/gm)];
    if (live.length === 0) throw new Error('The metrics do not tell of tasks.');
    return live.every(([, count]) => Number(count) === 0);
  };
  return {
    name: 'millrace up',
    processes: { leader: [node.process.pid], workers },
    lookEveryMs: LOOK_EVERY_MS,
    submit: (count) => client.submitMany(count, jobOf('echo', { id: 1 })),
    async isDone() {
      if (!(await isAtRest())) return false;
      // What the leader has decided may not be in the file yet.
      for (const state of ['queued', 'running']) {
        const page = JSON.parse(await text(`/api/v1/jobs?state=${state}&limit=1`)) as JobsPage;
        if (page.jobs.length > 0) return false;
      }
      return true;
    },
    pauseWorkers: () => signalWorkers('SIGSTOP'),
    resumeWorkers: () => signalWorkers('SIGCONT'),
    async audit(submitted) {
      // The file has one owner.
      await node.process.end();
      await auditStore(
        await openDuckdbStore({ path: join(folder.path, 'millrace.duckdb') }),
        submitted,
      );
    },
    async close() {
      client.close();
      await node.process.end();
      folder.remove();
    },
  };
}
