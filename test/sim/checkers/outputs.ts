import type { JobNo, TaskSpecRow } from '../../../src/scheduler/core/index.ts';
import type { FragmentResult } from '../queries.ts';
import type { Evidence } from './evidence.ts';

/**
 * Whoever has ended well has read one output of each task that it depends on, of an attempt that was
 * committed; and when the job has succeeded, what was read is what stands: a part that may come out
 * differently was read by everybody in the same version.
 */
export function checkOutputs(evidence: Evidence): void {
  const { tables, findings } = evidence;
  for (const [key, spec] of tables.specs) {
    if (spec.executor !== 'part') continue;
    const row = tables.tasks.get(key);
    const result = tables.results.get(`${key}/${row?.run}`);
    if (row?.state !== 'succeeded' || result === undefined) continue;
    const { reads = {}, fence } = JSON.parse(result.body) as Partial<FragmentResult>;
    const name = `${tables.jobs.get(spec.jobNo)?.id}/${spec.id}`;
    if (fence !== row.fence) {
      findings.add('outputs', `${name} stands with fence ${row.fence}, its result is of ${fence}`);
    }
    const expected = spec.dependsOn.filter((no) => no !== 0).length;
    if (Object.keys(reads).length !== expected) {
      const count = Object.keys(reads).length;
      findings.add('outputs', `${name} has read ${count} outputs, not ${expected}`);
    }
    for (const [id, read] of Object.entries(reads)) checkRead(evidence, spec, name, id, read);
  }
}

function checkRead(
  { tables, journal, findings }: Evidence,
  { jobNo }: TaskSpecRow,
  name: string,
  id: string,
  read: FragmentResult['reads'][string],
): void {
  const maker = makerOf(tables.specs, jobNo, id);
  const key = `${jobNo}/${maker?.taskNo}`;
  if (journal.find(jobNo, maker?.taskNo ?? -1, read.fence, ['completed']) === null) {
    findings.add(
      'outputs',
      `${name} has read ${id} of fence ${read.fence}, which nobody committed`,
    );
  }
  if (tables.jobs.get(jobNo)?.state !== 'succeeded') return;
  const stands = tables.results.get(`${key}/${tables.tasks.get(key)?.run}`);
  const content = stands === undefined ? null : (JSON.parse(stands.body) as FragmentResult).content;
  if (content !== read.content) {
    findings.add('outputs', `${name} has read ${read.content} of ${id}, but ${content} stands`);
  }
}

function makerOf(
  specs: ReadonlyMap<string, TaskSpecRow>,
  jobNo: JobNo,
  id: string,
): TaskSpecRow | undefined {
  for (let no = 0; ; no += 1) {
    const spec = specs.get(`${jobNo}/${no}`);
    if (spec === undefined || spec.id === id) return spec;
  }
}

/** A lost output is recomputed only a limited number of times. */
export function checkRounds({ tables, findings }: Pick<Evidence, 'tables' | 'findings'>): void {
  const rounds = new Map<string, number>();
  for (const { kind, jobNo, taskNo, detail } of tables.events) {
    if (taskNo === null) continue;
    const key = `${jobNo}/${taskNo}`;
    if (kind === 'created') rounds.set(key, 0);
    if (kind !== 'recomputed' || !(JSON.parse(detail ?? '{}') as { lost?: boolean }).lost) continue;
    const count = (rounds.get(key) ?? 0) + 1;
    rounds.set(key, count);
    const options = JSON.parse(tables.specs.get(key)?.options ?? '{}') as StoredOptions;
    // One more is begun, to fail.
    const max = (options.retry?.maxLosses ?? DEFAULT_LOSSES) + 1;
    if (count > max) findings.add('outputs', `task ${key} was recomputed ${count} times of ${max}`);
  }
}

/** As the simulation sets it. */
const DEFAULT_LOSSES = 20;

interface StoredOptions {
  readonly retry?: { readonly maxLosses?: number };
}
