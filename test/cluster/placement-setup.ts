import { writeFileSync } from 'node:fs';
import type { Cluster } from '../rig/cluster/cluster.ts';

/** A module with one task. */
export function moduleOf(cluster: Cluster, name: string, run: string, head = ''): string {
  const file = cluster.file(`${name}-${run.length}.mjs`);
  const task = `{ kind: 'millrace.task', name: '${name}', run: ${run} }`;
  writeFileSync(file, `${head}\nexport const task = ${task};\n`);
  return file;
}
