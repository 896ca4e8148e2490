/** Somebody tells a job something. It is kept until a task of the job waits for it, and taken once. */
import { utf8Bytes } from '../document/text.ts';
import { MillraceError } from '../errors.ts';
import type { Signal } from '../event.ts';
import type { Job } from '../job/job.ts';
import { shapeFault } from '../job/signal-shape.ts';
import type { AwaitedSignal } from '../job/waits.ts';
import type { Json } from '../json.ts';
import type { SchedulerState } from '../state.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';
import { takeSignal } from './awaited.ts';
import { dropJob } from './settle.ts';
import { wake } from './wait.ts';

export function signal(context: StepContext, event: Signal): void {
  const job = context.state.jobsById.get(event.jobId);
  if (job === undefined) return context.refuse(event.ask, unknownJob(event.jobId));
  const refusal = refusalOf(context.state, job, event);
  // Repeated in doubt, perhaps after the very end that it has brought about.
  if (job.signals.has(event.id)) context.replyJob(event.ask, job, false);
  else if (refusal !== null) context.refuse(event.ask, refusal);
  else take(context, job, event);
  // Loaded in vain.
  if (job.open === 0) dropJob(context.state, job);
}

function take(context: StepContext, job: Job, { ask, id, name, body }: Signal): void {
  const no = job.signals.add({ id, name, taken: false });
  const sentAt = context.now;
  context.effects.signal({ jobNo: job.no, no, id, name, body, sentAt, taken: false });
  const slot = firstListener(context.state, job, name);
  const takenBy = slot === null ? null : context.state.tasks.id(slot);
  context.logJob('job.signalled', job, { name, id, takenBy });
  context.replyJob(ask, job, true, { signal: { takenBy, awaited: job.signals.awaited } });
  if (slot === null) return;
  const wanted = wantedBy(context.state, slot, name);
  if (wanted !== undefined && takeSignal(context, slot, wanted)) wake(context, slot);
}

/** The task with the lowest number. */
function firstListener({ tasks }: SchedulerState, job: Job, name: string): Slot | null {
  let first: Slot | null = null;
  for (const slot of job.signals.listeners(name)) {
    if (first === null || tasks.no(slot) < tasks.no(first)) first = slot;
  }
  return first;
}

function refusalOf(state: SchedulerState, job: Job, event: Signal): MillraceError | null {
  const { settings } = state;
  if (job.open === 0 || job.stopping !== null) {
    const what = job.open === 0 ? `Job ${job.id} has ended.` : `Job ${job.id} is being cancelled.`;
    return new MillraceError({
      code: 'conflict',
      what,
      todo: 'It cannot receive signals any more.',
    });
  }
  const misfit = misfitOf(state, job, event);
  if (misfit !== null) return misfit;
  const { signalBytesMax, signalsPerJobMax } = settings;
  if (utf8Bytes(event.body) > signalBytesMax) {
    return new MillraceError({
      code: 'too_large',
      what: `The body of the signal is larger than ${signalBytesMax} bytes.`,
      todo: 'Store the data elsewhere, and send its location.',
    });
  }
  if (job.signals.count < signalsPerJobMax) return null;
  return new MillraceError({
    code: 'conflict',
    what: `Job ${job.id} has reached the limit of ${signalsPerJobMax} signals.`,
    todo: 'Put more into one signal, or raise the setting signalsPerJobMax.',
  });
}

/** The task that would take it knows that it will not do. */
function misfitOf(state: SchedulerState, job: Job, { name, body }: Signal): MillraceError | null {
  const slot = firstListener(state, job, name);
  const wanted = slot === null ? undefined : wantedBy(state, slot, name);
  if (slot === null || wanted?.shape === undefined) return null;
  const { value = null } = JSON.parse(body) as { readonly value?: Json };
  const fault = shapeFault(wanted.shape, value);
  if (fault === null) return null;
  const subject = fault.path === '' ? 'it' : `its ${fault.path}`;
  return new MillraceError({
    code: 'bad_input',
    ...(fault.path === '' ? {} : { path: fault.path }),
    what: `The signal ${name} does not match the schema that task ${state.tasks.id(slot)} waits for: ${subject} ${fault.what}.`,
    todo: 'Nothing was sent. Send a value that matches.',
  });
}

function wantedBy({ tasks }: SchedulerState, slot: Slot, name: string): AwaitedSignal | undefined {
  return tasks.waits(slot)?.signals.find((each) => each.name === name);
}

function unknownJob(id: string): MillraceError {
  return new MillraceError({ code: 'not_found', what: `There is no job ${id}.` });
}
