/** The slots of a node: a cell for each, in the colour of the job whose task is in it. */
import type { JSX } from 'preact';
import type { NodeShape } from '../../src/scheduler/contract/index.ts';
import { link } from '../route.ts';
import { duration, now, plural } from '../words.ts';

export interface Lease {
  readonly node: string;
  readonly job: string;
  readonly jobName: string;
  readonly task: string;
  readonly executor: string;
  readonly since: string;
  readonly isStarted: boolean;
}

export interface Leases {
  readonly leases: readonly Lease[];
}

const SLOTS_MAX = 64;
const JOBS_MAX = 6;
const COLOURS = 8;

/** One job has one colour on every node. */
function colourOf(job: string): number {
  let hash = 0;
  for (let at = 0; at < job.length; at += 1) hash = (hash * 31 + job.charCodeAt(at)) % 65_521;
  return hash % COLOURS;
}

/** What is held beyond the slots waits on the node already. */
export function Slots({
  node,
  leases,
}: {
  readonly node: NodeShape;
  readonly leases: readonly Lease[];
}): JSX.Element {
  const used = Math.min(node.running, node.slots);
  const ahead = node.running - used;
  // What runs stands before what only waits on the node.
  const inSlots = leases.toSorted((a, b) => Number(b.isStarted) - Number(a.isStarted));
  return (
    <>
      <div class="slots" role="group" aria-label={`${used} of ${node.slots} slots in use`}>
        {Array.from({ length: Math.min(node.slots, SLOTS_MAX) }, (_, at) => {
          const lease = at < used ? inSlots[at] : undefined;
          if (lease === undefined)
            return <span key={at} class={at < used ? 'slot used' : 'slot'} aria-hidden="true" />;
          const words = `${lease.jobName}: ${lease.task}, for ${duration(now.value - Date.parse(lease.since))}`;
          return (
            <a
              key={at}
              class={`slot used c${colourOf(lease.job)}`}
              href={link(['jobs', lease.job], { task: lease.task })}
              title={words}
              aria-label={words}
            />
          );
        })}
        <span class="num muted">
          {used} / {node.slots}
          {ahead > 0 && ` (+${ahead} fetched ahead)`}
        </span>
      </div>
      <HeldJobs leases={leases} />
    </>
  );
}

function HeldJobs({ leases }: { readonly leases: readonly Lease[] }): JSX.Element | null {
  const jobs = new Map<string, { readonly name: string; readonly tasks: string[] }>();
  for (const { job, jobName, task } of leases) {
    const known = jobs.get(job);
    if (known === undefined) jobs.set(job, { name: jobName, tasks: [task] });
    else known.tasks.push(task);
  }
  if (jobs.size === 0) return null;
  const shown = [...jobs].slice(0, JOBS_MAX);
  return (
    <ul class="plain held">
      {shown.map(([id, { name, tasks }]) => (
        <li key={id}>
          <span class={`slot used c${colourOf(id)}`} aria-hidden="true" />
          <a href={link(['jobs', id])}>{name}</a>
          <span class="muted clip">
            {tasks.length === 1 ? tasks[0] : plural(tasks.length, 'task')}
          </span>
        </li>
      ))}
      {jobs.size > JOBS_MAX && <li class="muted">{plural(jobs.size - JOBS_MAX, 'more job')}</li>}
    </ul>
  );
}
