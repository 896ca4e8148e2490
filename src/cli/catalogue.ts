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
    summary: 'show what Millrace does, on this machine, with nothing to set up',
    load: () => import('./commands/demo.ts'),
  },
  {
    name: 'run',
    summary: 'run a flow or a job document to its end, here or on a server',
    load: () => import('./commands/run.ts'),
  },
  {
    name: 'sql',
    summary: 'run a query over Parquet, CSV or JSON files, here or on a server',
    load: () => import('./commands/sql.ts'),
  },
  {
    name: 'submit',
    summary: 'submit a job, and follow it to its end if you like',
    load: () => import('./commands/submit.ts'),
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
    summary: 'stop a job',
    load: () => import('./commands/cancel.ts'),
  },
  {
    name: 'signal',
    summary: 'tell a job something that it waits for',
    load: () => import('./commands/signal.ts'),
  },
  {
    name: 'rerun',
    summary: 'run again what did not succeed in a job',
    load: () => import('./commands/rerun.ts'),
  },
  {
    name: 'explain',
    summary: 'say why a task waits',
    load: () => import('./commands/explain.ts'),
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
    summary: 'list the nodes and what they do',
    load: () => import('./commands/nodes.ts'),
  },
  {
    name: 'drain',
    summary: 'let a node finish its work and take no more',
    load: () => import('./commands/drain.ts'),
  },
  {
    name: 'release',
    summary: 'let a node take work again',
    load: () => import('./commands/release.ts'),
  },
  {
    name: 'schedules',
    summary: 'list schedules, or change them',
    load: () => import('./commands/schedules.ts'),
  },
  {
    name: 'up',
    summary: 'one node with everything, on a file of its own',
    load: () => import('./commands/up.ts'),
  },
  {
    name: 'dev',
    summary: 'the same, with workers that follow your code; or a local cluster',
    load: () => import('./commands/dev.ts'),
  },
  {
    name: 'serve',
    summary: 'a node of a cluster on PostgreSQL',
    load: () => import('./commands/serve.ts'),
  },
  {
    name: 'worker',
    summary: 'execute tasks for a cluster, without access to its database',
    load: () => import('./commands/worker.ts'),
  },
  {
    name: 'migrate',
    summary: 'bring the tables of a store up to date, or back',
    load: () => import('./commands/migrate.ts'),
  },
  {
    name: 'export',
    summary: 'write everything in a store to a file',
    load: () => import('./commands/export.ts'),
  },
  {
    name: 'import',
    summary: 'fill an empty store from such a file',
    load: () => import('./commands/import.ts'),
  },
  {
    name: 'config',
    summary: 'show every setting, its value and where that comes from',
    load: () => import('./commands/config.ts'),
  },
  {
    name: 'schema',
    summary: 'print the JSON Schema of the job document',
    load: () => import('./commands/schema.ts'),
  },
  {
    name: 'completion',
    summary: 'print what a shell needs to complete these commands',
    load: () => import('./commands/completion.ts'),
  },
];
