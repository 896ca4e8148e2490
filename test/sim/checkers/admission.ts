import type { Settings } from '../../../src/scheduler/core/index.ts';
import type { Evidence } from './evidence.ts';

/** Of queries, no more run at a time than may, and they hold no more memory than there is, unless one alone does. */
export function checkAdmission({
  tables,
  findings,
  settings,
}: Pick<Evidence, 'tables' | 'findings' | 'settings'>): void {
  const held = new Map<number, number>();
  for (const { kind, jobNo, taskNo, seq } of tables.events) {
    if (jobNo === null) continue;
    if (taskNo === null) {
      if (kind === 'job.succeeded' || kind === 'job.failed' || kind === 'job.cancelled') {
        held.delete(jobNo);
      }
      continue;
    }
    if (kind !== 'completed') continue;
    const text = tables.specs.get(`${jobNo}/${taskNo}`)?.options ?? '{}';
    const { admission } = JSON.parse(text) as { admission?: { memoryBytes: number } };
    if (admission === undefined) continue;
    held.set(jobNo, admission.memoryBytes);
    const fault = faultOf(held, settings);
    if (fault !== null) findings.add('admission', `${fault} (event ${seq})`);
  }
}

function faultOf(
  held: ReadonlyMap<number, number>,
  { maxQueries, queryMemoryBytes }: Settings,
): string | null {
  if (held.size > maxQueries) return `${held.size} queries run, ${maxQueries} may`;
  const bytes = [...held.values()].reduce((sum, each) => sum + each, 0);
  if (queryMemoryBytes === 0 || held.size <= 1 || bytes <= queryMemoryBytes) return null;
  return `${held.size} queries hold ${bytes} of ${queryMemoryBytes} bytes`;
}
