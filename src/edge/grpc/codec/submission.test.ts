import { BinaryWriter } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JOB_STATES, MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId, TaskId } from '../../../scheduler/core/index.ts';
import type { JobReply } from '../../../scheduler/contract/index.ts';
import { NewJob, SubmitJobRequest, SubmitJobResponse } from '../gen/millrace/v1/job.ts';
import { toWireJobReply } from './change.ts';
import { readSubmission, writeSubmitted } from './submission.ts';

const bytes = fc.uint8Array({ maxLength: 300 }).map((given) => Buffer.from(given));
const jobs = fc.array(
  fc.record({ documentJson: bytes, jobId: fc.string({ unit: 'binary', maxLength: 200 }) }),
  { maxLength: 8 },
);

const read = (given: Uint8Array): unknown => readSubmission(Buffer.from(given));
const usual = (given: Uint8Array): unknown => SubmitJobRequest.decode(given).jobs;

function resultOf(act: () => unknown): unknown {
  try {
    return act();
  } catch {
    return 'refused';
  }
}

test('a submission is read as the generated code reads it', () => {
  fc.assert(
    fc.property(jobs, (all) => {
      const sent = SubmitJobRequest.encode({ jobs: all }).finish();
      expect(read(sent)).toEqual(usual(sent));
    }),
  );
});

test('fields may come in any order, more than once, and beside fields that are not known', () => {
  const part = fc.oneof(
    bytes.map((given) => (writer: BinaryWriter) => writer.uint32(10).bytes(given)),
    fc.string().map((given) => (writer: BinaryWriter) => writer.uint32(18).string(given)),
    fc.nat().map((given) => (writer: BinaryWriter) => writer.uint32(24).uint32(given)),
    fc.nat().map((given) => (writer: BinaryWriter) => writer.uint32(8).uint32(given)),
    fc.nat().map((given) => (writer: BinaryWriter) => writer.uint32(0x7d).fixed32(given)),
    fc.nat().map((given) => (writer: BinaryWriter) => writer.uint32(17).fixed64(given)),
  );
  const messages = fc.array(fc.tuple(fc.boolean(), fc.array(part, { maxLength: 6 })), {
    maxLength: 5,
  });
  fc.assert(
    fc.property(messages, (all) => {
      const writer = new BinaryWriter();
      for (const [isJob, parts] of all) {
        if (!isJob) writer.uint32(0x10).uint32(7);
        writer.uint32(10).fork();
        for (const put of parts) put(writer);
        writer.join();
      }
      const sent = writer.finish();
      expect(read(sent)).toEqual(usual(sent));
    }),
  );
});

test('what is cut off, or no message at all, is refused and nothing else', () => {
  fc.assert(
    fc.property(jobs, fc.nat(), (all, cut) => {
      const whole = SubmitJobRequest.encode({ jobs: all }).finish();
      const part = whole.subarray(0, whole.length === 0 ? 0 : cut % whole.length);
      expect(resultOf(() => read(part))).toEqual(resultOf(() => usual(part)));
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (given) => {
      const found = resultOf(() => read(given));
      // The generated code takes some of what breaks the rules.
      if (found !== 'refused') expect(found).toEqual(usual(given));
    }),
  );
});

test('a field that is longer than its job is refused', () => {
  const job = NewJob.encode({ documentJson: Buffer.from('{}'), jobId: 'j' }).finish();
  const sent = Buffer.from([10, job.length, ...job]);
  expect(read(sent)).toEqual([{ documentJson: Buffer.from('{}'), jobId: 'j' }]);
  sent[3] = 40;
  expect(() => read(sent)).toThrow('longer');
});

test('answers are what the generated code writes', () => {
  const id = fc.oneof(
    fc.uuid(),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }),
    fc.integer({ min: 1, max: 200 }).map((length) => 'j'.repeat(length)),
  );
  const reply: fc.Arbitrary<JobReply> = fc.record(
    {
      jobId: id.map((text) => text as JobId),
      state: fc.constantFrom(...JOB_STATES),
      run: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom(127, 128, 70_000)),
      changed: fc.boolean(),
      signal: fc.record({
        takenBy: fc.constant('t' as TaskId),
        awaited: fc.array(fc.string(), { maxLength: 2 }),
      }),
    },
    { requiredKeys: ['jobId', 'state', 'run', 'changed'] },
  );
  const brief = reply.map(({ jobId, state, run, changed }) => ({ jobId, state, run, changed }));
  const refusal = fc.constant(new MillraceError({ code: 'bad_input', what: 'No.' }));
  const answers = fc.oneof(fc.array(brief), fc.array(fc.oneof(reply, refusal)));
  fc.assert(
    fc.property(answers, (all) => {
      const expected = SubmitJobResponse.encode({ jobs: all.map(toWireJobReply) }).finish();
      expect(writeSubmitted(all)).toEqual(Buffer.from(expected));
    }),
  );
});
