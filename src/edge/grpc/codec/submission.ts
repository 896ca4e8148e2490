/** SubmitJobRequest and its answer. A list may have thousands of jobs, so neither is read or written with an object for
 * each field and a copy of each document. */
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { JobReply } from '../../../scheduler/contract/index.ts';
import { SubmitJobResponse } from '../gen/millrace/v1/job.ts';
import type { NewJob as WireNewJob } from '../gen/millrace/v1/job.ts';
import { toWireJobReply, toWireJobState } from './change.ts';

const LENGTH_DELIMITED = 2;
const WIRE_TYPE = 7;
const fieldOf = (no: number): number => (no << 3) | LENGTH_DELIMITED;

const JOBS = fieldOf(1);
const DOCUMENT_JSON = fieldOf(1);
const JOB_ID = fieldOf(2);

const NO_BYTES: Buffer = Buffer.alloc(0);

/** Documents lie where they are in `bytes`. Throws when it is not such a message. */
export function readSubmission(bytes: Buffer): readonly WireNewJob[] {
  const reader = new BinaryReader(bytes);
  const jobs: WireNewJob[] = [];
  while (reader.pos < bytes.length) {
    const tag = reader.uint32();
    if (tag === JOBS) jobs.push(readJob(reader, bytes, endOf(reader, bytes.length)));
    else skip(reader, tag);
  }
  return jobs;
}

function readJob(reader: BinaryReader, bytes: Buffer, end: number): WireNewJob {
  let documentJson = NO_BYTES;
  let jobId = '';
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag !== DOCUMENT_JSON && tag !== JOB_ID) {
      skip(reader, tag);
      continue;
    }
    const to = endOf(reader, end);
    if (tag === JOB_ID) jobId = bytes.toString('utf8', reader.pos, to);
    else documentJson = bytes.subarray(reader.pos, to);
    reader.pos = to;
  }
  if (reader.pos !== end) throw new RangeError('A field is longer than its message.');
  return { documentJson, jobId };
}

/** A field that is not known here. */
function skip(reader: BinaryReader, tag: number): void {
  // The reader refuses what is not a valid type.
  // oxlint-disable-next-line typescript/no-unsafe-enum-assignment
  reader.skip(tag & WIRE_TYPE, tag >>> 3);
}

/** Of what has its length in front. */
function endOf(reader: BinaryReader, limit: number): number {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > limit) throw new RangeError('A field is longer than its message.');
  return end;
}

type Outcome = JobReply | MillraceError;

const ID = fieldOf(1);
const STATE = 2 << 3;
const RUN = 3 << 3;
const CHANGED = 4 << 3;
/** Whatever is below it is one byte, as a number and as a length. */
const ONE_BYTE = 0x80;
/** The fields behind the id. */
const REST_BYTES = 6;
const ID_BYTES_MAX: number = ONE_BYTE - 1 - 2 - REST_BYTES;

/** A reply has an id, a state and two small numbers; where one has more to say all are written in the usual way. */
export function writeSubmitted(replies: readonly Outcome[]): Buffer {
  const bytes = Buffer.allocUnsafe(replies.length * (2 + ONE_BYTE));
  let at = 0;
  for (const reply of replies) {
    if (!isBrief(reply)) return written(replies);
    const id = bytes.write(reply.jobId, at + 4);
    if (id !== reply.jobId.length) return written(replies);
    const start = at + 4 + id;
    bytes[at] = JOBS;
    bytes[at + 2] = ID;
    bytes[at + 3] = id;
    at = writeRest(bytes, start, reply);
    bytes[start - id - 3] = at - (start - id - 2);
  }
  return bytes.subarray(0, at);
}

/** What is zero or false is left out. Returns where it ends. */
function writeRest(bytes: Buffer, from: number, { state, run, changed }: JobReply): number {
  let at = from;
  const put = (field: number, value: number): void => {
    if (value === 0) return;
    bytes[at] = field;
    bytes[at + 1] = value;
    at += 2;
  };
  put(STATE, toWireJobState(state));
  put(RUN, run);
  put(CHANGED, Number(changed));
  return at;
}

function isBrief(reply: Outcome): reply is JobReply {
  if (reply instanceof MillraceError || reply.signal !== undefined) return false;
  const { jobId, run } = reply;
  const hasId = jobId !== '' && jobId.length <= ID_BYTES_MAX;
  return hasId && Number.isInteger(run) && run >= 0 && run < ONE_BYTE;
}

function written(replies: readonly Outcome[]): Buffer {
  const response = SubmitJobResponse.encode({ jobs: replies.map(toWireJobReply) }).finish();
  return Buffer.from(response.buffer, response.byteOffset, response.byteLength);
}
