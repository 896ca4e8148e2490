/** Where things are in the HTTP API. */
import {
  type JobId,
  MillraceError,
  type NodeId,
  type ScheduleId,
} from '../../scheduler/core/index.ts';
import type { JobRef } from '../options.ts';

export function jobIdOf(job: JobRef): JobId {
  return (typeof job === 'string' ? job : job.id) as JobId;
}

export function jobPath(job: JobRef): string {
  return `/api/v1/jobs/${named('job', jobIdOf(job))}`;
}

export function taskPath(job: JobRef, task: string): string {
  return `${jobPath(job)}/tasks/${named('task', task)}`;
}

export function nodePath(id: NodeId): string {
  return `/api/v1/nodes/${named('node', id)}`;
}

export function schedulePath(id: ScheduleId): string {
  return `/api/v1/schedules/${named('schedule', id)}`;
}

/** An empty id, say of a shell variable that is not set, would lead to the list. */
function named(kind: string, id: string): string {
  if (id !== '') return encodeURIComponent(id);
  throw new MillraceError({ code: 'bad_input', what: `The id of the ${kind} is empty.` });
}
