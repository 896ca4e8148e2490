import { expect, test } from 'vitest';
import { WorkRequest } from '../gen/millrace/v1/work.ts';
import { bytesOfMessage } from './message-writer.ts';

const cancelOf = (callNo: number): WorkRequest => {
  return { callNo, timeoutMs: 0, call: { $case: 'cancel', value: {} } };
};
const reportsOf = (callNo: number, length: number): WorkRequest => {
  const value = { workerId: 'w', sessionId: 's', reports: Buffer.alloc(length, callNo) };
  return { callNo, timeoutMs: 1, call: { $case: 'packedReports', value } };
};

test('each message has its own bytes, however large the one before was', () => {
  const messages = [1, 2_000_000, 3, 50_000, 0].map((length, no) => reportsOf(no + 1, length));
  const bytes = messages.map((message) => bytesOfMessage(message, WorkRequest));
  expect(bytes.map((each) => WorkRequest.decode(each))).toEqual(messages);
});

test('nothing is left of a message that could not be written', () => {
  const { call } = reportsOf(1, 100);
  expect(() => bytesOfMessage({ callNo: 2, timeoutMs: -1, call }, WorkRequest)).toThrow('uint32');
  expect(bytesOfMessage(cancelOf(3), WorkRequest)).toEqual(
    Buffer.from(WorkRequest.encode(cancelOf(3)).finish()),
  );
});
