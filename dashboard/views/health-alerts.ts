/** The alert rules of `deploy/alerts.yaml` that one look at the figures can judge. */
import type { Figures } from './figures.ts';

export interface Alert {
  /** The name of the rule. */
  readonly name: string;
  readonly title: string;
  /** What is wrong when it fires, as a sentence without its figure. */
  readonly says: string;
  /** `unknown`: this node does not have the figure. */
  readonly state: 'ok' | 'firing' | 'unknown';
  readonly seen: string;
  readonly limit: string;
  /** What to do if it fires. */
  readonly todo: string;
}

interface Rule {
  readonly name: string;
  readonly title: string;
  readonly says: string;
  readonly limit: number;
  readonly unit: 'seconds' | 'count';
  readonly todo: string;
  /** Null for unknown. A task that does not exist has no age: NaN counts as 0. */
  readonly value: (figures: Figures) => number | null;
}

export const RULES: readonly Rule[] = [
  {
    name: 'MillraceStoreUnreadable',
    title: 'The store cannot be read',
    says: 'The store cannot be read',
    limit: 0,
    unit: 'count',
    todo: 'Check the database and the network to it.',
    value: (figures) => {
      const isReadable = figures.value('millrace_readable');
      return isReadable === null ? null : 1 - isReadable;
    },
  },
  {
    name: 'MillraceTaskFitsNowhere',
    title: 'A task that no node can run',
    says: 'A task waits for a node that could run it',
    limit: 300,
    unit: 'seconds',
    todo: 'Search for state:running,queued: the job says what its task lacks.',
    value: (figures) => figures.value('millrace_unfit_task_seconds'),
  },
  {
    name: 'MillraceQueueGrowsOld',
    title: 'A ready task waits',
    says: 'A ready task waits too long',
    limit: 600,
    unit: 'seconds',
    todo: 'Add workers or slots, or look for tasks that hold them.',
    value: (figures) => figures.value('millrace_oldest_ready_seconds'),
  },
  {
    name: 'MillraceCommitsAreSlow',
    title: 'Commits, 99 % within',
    says: 'Commits are slow',
    limit: 0.5,
    unit: 'seconds',
    todo: 'Look at the load and the disk of the database.',
    value: (figures) => figures.quantile('millrace_commit_seconds', 0.99),
  },
  {
    name: 'MillraceBacklog',
    title: 'Events that wait to be committed',
    says: 'Events come faster than the store takes them',
    limit: 10_000,
    unit: 'count',
    todo: 'Look at the database; callers are refused when the backlog is full.',
    value: (figures) => figures.value('millrace_backlog'),
  },
  {
    name: 'MillraceLeaderReloaded',
    title: 'Reloads of the leader after an error',
    says: 'The leader has reloaded its state',
    limit: 0,
    unit: 'count',
    todo: 'This is a bug in Millrace: please report it with the log of the server.',
    value: (figures) => figures.value('millrace_leader_reloads'),
  },
  {
    name: 'MillraceNodesLost',
    title: 'Nodes without heartbeats',
    says: 'Nodes are not heard of',
    limit: 0,
    unit: 'count',
    todo: 'The view of nodes names them.',
    value: (figures) => {
      const [stale, dead] = ['stale', 'dead'].map((status) =>
        figures.value('millrace_nodes', { status }),
      );
      return [stale, dead].every((each) => (each ?? null) === null)
        ? null
        : (stale ?? 0) + (dead ?? 0);
    },
  },
  {
    name: 'MillraceReadsAreStale',
    title: 'Age of what this node shows',
    says: 'What this node shows is old',
    limit: 60,
    unit: 'seconds',
    todo: 'Check its connection to the cluster, and its clock.',
    value: (figures) => figures.value('millrace_read_lag_seconds'),
  },
];

export type InWords = (value: number, unit: Rule['unit']) => string;

export function alertsOf(figures: Figures, hasLeader: boolean, inWords: InWords): readonly Alert[] {
  const leads: Alert = {
    name: 'MillraceNoLeader',
    title: 'A node leads',
    says: 'No node leads',
    state: hasLeader ? 'ok' : 'firing',
    seen: hasLeader ? 'yes' : 'no',
    limit: 'always',
    todo: 'Check the logs of the servers and whether they reach the database.',
  };
  return [
    leads,
    ...RULES.map(({ name, title, says, limit, unit, todo, value }): Alert => {
      const read = value(figures);
      const seen = read === null ? null : Number.isNaN(read) ? 0 : read;
      return {
        name,
        title,
        says,
        state: seen === null ? 'unknown' : seen > limit ? 'firing' : 'ok',
        seen: seen === null ? 'not known here' : inWords(seen, unit),
        limit: limit === 0 ? 'none' : `at most ${inWords(limit, unit)}`,
        todo,
      };
    }),
  ];
}
