/**
 * A list of jobs whose callers chose the ids. The store is asked once which of them are taken, and all others are
 * submitted together: a look-up for each job would cost the leader more than the job itself.
 */
import { MillraceError, unstorableJob } from '../core/index.ts';
import type { JobDocument, JobId, ListedJob } from '../core/index.ts';
import type { JobReply, NewJob, SubmitOptions } from '../contract/index.ts';
import type { Dispatcher } from './dispatcher.ts';
import { asFault, notStorable } from './faults.ts';
import { asJobs } from './job-replies.ts';
import { keyScopes } from './known-keys.ts';
import { portionsOf } from './listed-jobs.ts';
import { inTrace } from './tracing.ts';

type Outcome = JobReply | MillraceError;

export interface ListPort {
  parse(job: NewJob): JobDocument;
  /** With `isFresh` nothing is looked up for a job that names no key. */
  submit(document: JobDocument, options: SubmitOptions): Promise<JobReply>;
  /** Jobs that name no key and whose ids are new: an outcome for each. */
  submitNew(jobs: readonly FreshJob[]): Promise<readonly Outcome[]>;
  takenIds(ids: readonly JobId[]): Promise<ReadonlySet<JobId>>;
  /** Nobody else submits a job with one of these ids meanwhile. */
  alone(ids: readonly JobId[], act: () => Promise<void>): Promise<void>;
}

export interface FreshJob {
  readonly document: JobDocument;
  readonly options: SubmitOptions;
}

interface Entry extends FreshJob {
  readonly at: number;
}

/** An outcome for each of the jobs; one that is refused refuses no other. */
export async function submitList(
  jobs: readonly NewJob[],
  port: ListPort,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const plain = new Map<JobId, Entry>();
  const others: Entry[] = [];
  for (let at = 0; at < jobs.length; at += 1) {
    const job = jobs[at] as NewJob;
    try {
      const document = port.parse(job);
      const entry = { at, document, options: job };
      if (isPlain(document, job) && !plain.has(job.jobId)) plain.set(job.jobId, entry);
      else others.push(entry);
    } catch (error) {
      outcomes[at] = asFault(error);
    }
  }
  const submit = async ({ at, document, options }: Entry): Promise<void> => {
    outcomes[at] = await port.submit(document, options).catch(asFault);
  };
  const known = submitPlain([...plain.values()], port, outcomes, submit);
  // After those have taken their ids: a second one of the same id is answered when the first one is there.
  await Promise.all([known, ...others.map(submit)]);
  return outcomes;
}

const NONE: readonly Entry[] = [];

/** Submits those whose ids are new together, and then the others, which are answered with the jobs that are there. */
async function submitPlain(
  plain: readonly Entry[],
  port: ListPort,
  outcomes: Outcome[],
  submit: (entry: Entry) => Promise<void>,
): Promise<void> {
  let rest = plain;
  if (plain.length > 1) {
    const ids = plain.map(({ options }) => options.jobId);
    await port.alone(ids, async () => {
      // Where the store does not answer, each asks for itself and hears why.
      const taken = await port.takenIds(ids).catch(() => new Set(ids));
      const isTaken = ({ options }: Entry): boolean => taken.has(options.jobId);
      // Mostly none is.
      rest = taken.size === 0 ? NONE : plain.filter(isTaken);
      const fresh = taken.size === 0 ? plain : plain.filter((entry) => !isTaken(entry));
      const made = await port.submitNew(fresh).catch((why) => fresh.map(() => asFault(why)));
      fresh.forEach(({ at }, no) => {
        outcomes[at] = made[no] as Outcome;
      });
    });
  }
  await Promise.all(rest.map(submit));
}

/** Only its id has to be looked up. */
function isPlain(document: JobDocument, { isFresh = false }: SubmitOptions): boolean {
  return !isFresh && document.idempotencyKey === null && keyScopes(document.tasks).length === 0;
}

/** Nothing is looked up for these. An outcome for each, in their order. */
export async function submitListed(
  jobs: readonly FreshJob[],
  dispatcher: Pick<Dispatcher, 'submitAll' | 'room'>,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const listed: ListedJob[] = [];
  /** Where each of those stands. */
  const places: number[] = [];
  for (let at = 0; at < jobs.length; at += 1) {
    const job = asListed(jobs[at] as FreshJob);
    const unstorable = unstorableJob(job, listed.at(-1) ?? null);
    if (unstorable !== null) outcomes[at] = notStorable(unstorable);
    else places[listed.push(job) - 1] = at;
  }
  const portions = portionsOf(listed, dispatcher.room).map(async (portion) => {
    const reply = await dispatcher.submitAll(portion).catch(asFault);
    return reply instanceof MillraceError ? portion.map(() => reply) : asJobs(reply);
  });
  const replies = (await Promise.all(portions)).flat();
  for (let no = 0; no < replies.length; no += 1) outcomes[places[no] ?? 0] = replies[no] as Outcome;
  return outcomes;
}

function asListed({ document, options }: FreshJob): ListedJob {
  const { jobId, trace, startedBy } = options;
  const job = { jobId, document: inTrace(document, trace ?? null) };
  return startedBy === undefined ? job : { ...job, startedBy };
}
