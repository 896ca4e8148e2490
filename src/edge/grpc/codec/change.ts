/** Changes of jobs: requests of clients and their answers. */
import { JOB_STATES, MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId, JobState, TaskId, Trace } from '../../../scheduler/core/index.ts';
import type {
  JobReply as WireJobReply,
  NewJob as WireNewJob,
  SignalJobRequest,
} from '../gen/millrace/v1/job.ts';
import { JobState as WireJobState } from '../gen/millrace/v1/types.ts';
import type { JobReply, NewJob, SubmitOptions } from '../../../scheduler/contract/index.ts';
import { errorFromDetail, errorToDetail } from '../status.ts';
import {
  jsonBytes,
  jsonText,
  optionalText,
  parsedJson,
  present,
  refuse,
  requiredText,
  wireCount,
} from './values.ts';

const WIRE_JOB_STATE: Readonly<Record<JobState, WireJobState>> = {
  queued: WireJobState.JOB_STATE_QUEUED,
  running: WireJobState.JOB_STATE_RUNNING,
  succeeded: WireJobState.JOB_STATE_SUCCEEDED,
  failed: WireJobState.JOB_STATE_FAILED,
  cancelled: WireJobState.JOB_STATE_CANCELLED,
};
const JOB_STATE_AT: ReadonlyMap<WireJobState, JobState> = new Map(
  JOB_STATES.map((state) => [WIRE_JOB_STATE[state], state]),
);

export function toWireJobState(state: JobState): WireJobState {
  return WIRE_JOB_STATE[state];
}

export function fromWireJobState(state: WireJobState, field: string): JobState {
  return JOB_STATE_AT.get(state) ?? refuse(field, `${state} is not a valid state.`);
}

export function toWireNewJob(job: NewJob): WireNewJob {
  // Functions and undefined have no JSON: such a document is none.
  const text = JSON.stringify(job.document) as string | undefined;
  if (text === undefined) refuse('document_json', 'The document is not a valid JSON value.');
  return { documentJson: jsonBytes(text), jobId: job.jobId };
}

/** `newJobId` is asked when the caller left the choice to us. */
export function fromWireNewJob(
  { documentJson, jobId }: WireNewJob,
  newJobId: () => JobId,
  trace: Trace | null,
): NewJob {
  const field = 'document_json';
  const document = parsedJson(jsonText(documentJson, field), field);
  // An id that is made here is new; a job with an id that the caller chose may exist.
  if (jobId === '') return { document, jobId: newJobId(), isFresh: true, trace };
  return { document, jobId: jobId as JobId, trace };
}

/** The same for what is submitted in another way. */
export function chosenJobId(id: string, newJobId: () => JobId): SubmitOptions {
  return id === '' ? { jobId: newJobId(), isFresh: true } : { jobId: id as JobId };
}

/** The arguments of `JobService.signal`. */
export interface SignalCall {
  readonly jobId: JobId;
  readonly name: string;
  readonly body: string;
  readonly signalId: string;
}

export function toWireSignal({ jobId, name, body, signalId }: SignalCall): SignalJobRequest {
  return { jobId, name, bodyJson: jsonBytes(body), signalId };
}

/** `newSignalId` is asked when the caller left the choice to us. Whether the body is JSON and not too
 * large is the service's to say, which gets it as it came. */
export function fromWireSignal(request: SignalJobRequest, newSignalId: () => string): SignalCall {
  const { jobId, name, bodyJson, signalId } = request;
  return {
    jobId: requiredText(jobId, 'job_id'),
    name: requiredText(name, 'name'),
    body: bodyJson.length === 0 ? 'null' : jsonText(bodyJson, 'body_json'),
    signalId: signalId === '' ? newSignalId() : signalId,
  };
}

export function toWireJobReply(reply: JobReply | MillraceError): WireJobReply {
  if (reply instanceof MillraceError) {
    const state = WireJobState.JOB_STATE_UNSPECIFIED;
    return {
      id: '',
      state,
      run: 0,
      changed: false,
      error: errorToDetail(reply),
      signal: undefined,
    };
  }
  const { jobId, state, run, changed, signal } = reply;
  return {
    id: jobId,
    state: WIRE_JOB_STATE[state],
    run: wireCount(run, 'run'),
    changed,
    error: undefined,
    signal:
      signal === undefined
        ? undefined
        : { takenBy: signal.takenBy ?? '', awaited: [...signal.awaited] },
  };
}

export function fromWireJobReply(reply: WireJobReply): JobReply | MillraceError {
  const { error, signal } = reply;
  if (error !== undefined) return errorFromDetail(error);
  return {
    jobId: requiredText(reply.id, 'id'),
    state: fromWireJobState(reply.state, 'state'),
    run: reply.run,
    changed: reply.changed,
    ...(signal === undefined
      ? {}
      : {
          signal: { takenBy: optionalText<TaskId>(signal.takenBy), awaited: signal.awaited },
        }),
  };
}

/** The reply to a call about one job: throws if the job was refused. */
export function fromWireOneReply(wire: WireJobReply | undefined): JobReply {
  const reply = fromWireJobReply(present(wire, 'job'));
  if (reply instanceof MillraceError) throw reply;
  return reply;
}
