/** Handlers that harm the process they run in: it is replaced, says why, and nobody's work is lost. */
import { fileURLToPath } from 'node:url';
import type { JobShape } from 'millrace';
import { TASKS, ended, startNode } from './single-node.ts';
import type { SingleNode } from './single-node.ts';

const STRAY = fileURLToPath(new URL('stray-tasks.ts', import.meta.url));
export const node = (): Promise<SingleNode> =>
  startNode({ modules: [TASKS, STRAY], flags: ['--abort-grace-ms', '300ms'] });

/** The task that does harm, and one beside it in the same process. */
export async function besides(
  { client }: SingleNode,
  executor: string,
  options: object = {},
): Promise<JobShape> {
  const harmful = { id: 'harmful', executor, input: 'first', ...options };
  return ended(await client.submit({ tasks: [harmful, { id: 'beside', executor: 'neighbour' }] }));
}
