/** Changes of jobs: what clients ask and what they are answered. */
import { JOB_STATES, MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId, JobState } from '../../../scheduler/core/index.ts';
import type { JobReply, NewJob as WireNewJob, SignalJobRequest } from '../gen/millrace/v1/job.ts';
import { JobState as WireJobState } from '../gen/millrace/v1/types.ts';
import type { JobAnswer, NewJob } from '../../../scheduler/contract/index.ts';
import { errorFromDetail, errorToDetail } from '../status.ts';
import {
  jsonBytes,
  jsonText,
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
  return JOB_STATE_AT.get(state) ?? refuse(field, `There is no state ${state}.`);
}

export function toWireNewJob(job: NewJob): WireNewJob {
  // Functions and undefined have no JSON: such a document is none.
  const text = JSON.stringify(job.document) as string | undefined;
  if (text === undefined) refuse('document_json', 'The document is no JSON value.');
  return { documentJson: jsonBytes(text), jobId: job.jobId, repeatedCall: job.isRepeated };
}

/** `newJobId` is asked when the caller left the choice to us. */
export function fromWireNewJob(job: WireNewJob, newJobId: () => JobId): NewJob {
  const field = 'document_json';
  return {
    document: parsedJson(jsonText(job.documentJson, field), field),
    jobId: job.jobId === '' ? newJobId() : (job.jobId as JobId),
    isRepeated: job.repeatedCall,
  };
}

/** A signal on its way: what `LeaderForClients.signal` takes. */
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

export function toWireAnswer(answer: JobAnswer | MillraceError): JobReply {
  if (answer instanceof MillraceError) {
    const state = WireJobState.JOB_STATE_UNSPECIFIED;
    return { id: '', state, run: 0, changed: false, error: errorToDetail(answer) };
  }
  const { id, state, run, changed } = answer;
  return {
    id,
    state: WIRE_JOB_STATE[state],
    run: wireCount(run, 'run'),
    changed,
    error: undefined,
  };
}

export function fromWireAnswer(reply: JobReply): JobAnswer | MillraceError {
  if (reply.error !== undefined) return errorFromDetail(reply.error);
  return {
    id: requiredText(reply.id, 'id'),
    state: fromWireJobState(reply.state, 'state'),
    run: reply.run,
    changed: reply.changed,
  };
}

/** The answer to a call about one job: its refusal is the call's own. */
export function fromWireOneAnswer(reply: JobReply | undefined): JobAnswer {
  const answer = fromWireAnswer(present(reply, 'job'));
  if (answer instanceof MillraceError) throw answer;
  return answer;
}
