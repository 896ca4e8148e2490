/**
 * Completed fragments of queries. What a fragment is stored with is read by the leader and by other workers, so it is
 * checked before the core sees it; a worker that has registered its output need not describe it once more.
 */
import type {
  FragmentResults,
  HeldFragment,
  ReportReply,
  Session,
  WorkerReport,
} from '../contract/index.ts';
import { leasedFragment } from './held-leases.ts';
import type { ServiceOptions } from './service-options.ts';

type Fragments = ReadonlyMap<number, HeldFragment>;
type Completed = Extract<WorkerReport, { kind: 'completed' }>;

/** The reports that complete a fragment, by their place in the list. */
export function fragmentsIn(
  { dispatcher }: Pick<ServiceOptions, 'dispatcher'>,
  session: Session,
  reports: readonly WorkerReport[],
): Fragments {
  const found = new Map<number, HeldFragment>();
  dispatcher.peek((state) => {
    for (let at = 0; at < reports.length; at += 1) {
      const { kind, lease } = reports[at] as WorkerReport;
      const fragment = kind === 'completed' ? leasedFragment(state, session, lease) : null;
      if (fragment !== null) found.set(at, fragment);
    }
  });
  return found;
}

export interface FragmentReports {
  readonly reports: readonly WorkerReport[];
  /** The places of those that were left out. */
  readonly unregistered: ReadonlySet<number>;
}

export async function withFragmentResults(
  results: FragmentResults,
  given: readonly WorkerReport[],
  fragments: Fragments,
): Promise<FragmentReports> {
  const reports: WorkerReport[] = [];
  const unregistered = new Set<number>();
  for (const [at, report] of given.entries()) {
    const fragment = fragments.get(at);
    if (fragment === undefined || report.kind !== 'completed') {
      reports.push(report);
      continue;
    }
    const checked = await completed(results, report, fragment);
    if (checked === null) unregistered.add(at);
    else reports.push(checked);
  }
  return { reports, unregistered };
}

async function completed(
  results: FragmentResults,
  { lease, result: reported }: Completed,
  fragment: HeldFragment,
): Promise<WorkerReport | null> {
  const end = await results.complete(fragment, reported);
  if (end === 'unregistered') return null;
  if ('result' in end) return { kind: 'completed', lease, result: end.result };
  const message = `the result of fragment ${fragment.taskId} ${end.fault}`;
  return { kind: 'failed', lease, error: { code: 'bad_result', message }, failure: 'fatal' };
}

/** Verdicts for all reports, including those that were left out. */
export function withGaps(
  verdicts: ReportReply['verdicts'],
  unregistered: ReadonlySet<number>,
): ReportReply['verdicts'] {
  const rest = [...verdicts];
  return Array.from({ length: verdicts.length + unregistered.size }, (_, at) =>
    unregistered.has(at) ? 'unregistered' : (rest.shift() ?? 'lost'),
  );
}
