import type { CommandModule } from './command.ts';

interface CatalogueEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: CommandModule }>;
}

/** Every command there is, in the order in which `millrace --help` shows them. */
export const catalogue: readonly CatalogueEntry[] = [
  {
    name: 'demo',
    summary: 'run a short demonstration on this machine; needs no setup',
    load: () => import('./commands/demo.ts'),
  },
  {
    name: 'run',
    summary: 'run a flow or a job document to completion, locally or on a server',
    load: () => import('./commands/run.ts'),
  },
  {
    name: 'sql',
    summary: 'run a SQL query over Parquet, CSV or JSON files, locally or on a server',
    load: () => import('./commands/sql.ts'),
  },
  {
    name: 'submit',
    summary: 'submit a job, and optionally follow it to completion',
    load: () => import('./commands/submit.ts'),
  },
  {
    name: 'start',
    summary: 'start a flow by its name',
    load: () => import('./commands/start.ts'),
  },
  {
    name: 'send',
    summary: 'send an event, which starts every flow that listens to it',
    load: () => import('./commands/send.ts'),
  },
  {
    name: 'flows',
    summary: 'list the flows that can be started by name',
    load: () => import('./commands/flows.ts'),
  },
  {
    name: 'jobs',
    summary: 'list jobs, newest first',
    load: () => import('./commands/jobs.ts'),
  },
  {
    name: 'job',
    summary: 'show a job and its tasks',
    load: () => import('./commands/job.ts'),
  },
  {
    name: 'cancel',
    summary: 'cancel a job',
    load: () => import('./commands/cancel.ts'),
  },
  {
    name: 'remove',
    summary: 'remove a job that has ended, with its tasks, results and logs',
    load: () => import('./commands/remove.ts'),
  },
  {
    name: 'priority',
    summary: 'change the priority of a job that is queued or running',
    load: () => import('./commands/priority.ts'),
  },
  {
    name: 'reschedule',
    summary: 'change the time at which a delayed job starts, or start it now',
    load: () => import('./commands/reschedule.ts'),
  },
  {
    name: 'signal',
    summary: 'send a signal to a job',
    load: () => import('./commands/signal.ts'),
  },
  {
    name: 'rerun',
    summary: 'rerun the tasks of a job that did not succeed',
    load: () => import('./commands/rerun.ts'),
  },
  {
    name: 'fork',
    summary: 'start a new job from an earlier one, from a task on',
    load: () => import('./commands/fork.ts'),
  },
  {
    name: 'redrive',
    summary: 'give a task that is out of attempts new ones',
    load: () => import('./commands/redrive.ts'),
  },
  {
    name: 'explain',
    summary: 'explain why a task is waiting',
    load: () => import('./commands/explain.ts'),
  },
  {
    name: 'logs',
    summary: 'show what the tasks of a job have printed, or follow it',
    load: () => import('./commands/logs.ts'),
  },
  {
    name: 'events',
    summary: 'show the event log, or follow it',
    load: () => import('./commands/events.ts'),
  },
  {
    name: 'queries',
    summary: 'list queries, or show one and its stages',
    load: () => import('./commands/queries.ts'),
  },
  {
    name: 'nodes',
    summary: 'list the nodes and what they run',
    load: () => import('./commands/nodes.ts'),
  },
  {
    name: 'drain',
    summary: 'stop assigning work to a node and let it finish what it has',
    load: () => import('./commands/drain.ts'),
  },
  {
    name: 'release',
    summary: 'end the drain or quarantine of a node',
    load: () => import('./commands/release.ts'),
  },
  {
    name: 'schedules',
    summary: 'list schedules, or change them',
    load: () => import('./commands/schedules.ts'),
  },
  {
    name: 'queues',
    summary: 'list queues, or pause and resume them',
    load: () => import('./commands/queues.ts'),
  },
  {
    name: 'up',
    summary: 'start a single node: leader, worker and API, stored in a DuckDB file',
    load: () => import('./commands/up.ts'),
  },
  {
    name: 'dev',
    summary: 'like up, but reload modules when they change; or start a local cluster',
    load: () => import('./commands/dev.ts'),
  },
  {
    name: 'serve',
    summary: 'start a cluster node on PostgreSQL',
    load: () => import('./commands/serve.ts'),
  },
  {
    name: 'open',
    summary: 'open the dashboard of a server in your browser',
    load: () => import('./commands/open.ts'),
  },
  {
    name: 'worker',
    summary: 'start a worker for a cluster, without access to its database',
    load: () => import('./commands/worker.ts'),
  },
  {
    name: 'migrate',
    summary: 'migrate the schema of a store, or show its version',
    load: () => import('./commands/migrate.ts'),
  },
  {
    name: 'export',
    summary: 'export the contents of a store to a file',
    load: () => import('./commands/export.ts'),
  },
  {
    name: 'import',
    summary: 'import an exported file into an empty store',
    load: () => import('./commands/import.ts'),
  },
  {
    name: 'config',
    summary: 'show every setting, its value and its source',
    load: () => import('./commands/config.ts'),
  },
  {
    name: 'schema',
    summary: 'print the JSON Schema of the job document',
    load: () => import('./commands/schema.ts'),
  },
  {
    name: 'completion',
    summary: 'print the completion script for bash, zsh or fish',
    load: () => import('./commands/completion.ts'),
  },
];
