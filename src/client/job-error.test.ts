import { expect, test } from 'vitest';
import type { JobShape } from '../scheduler/contract/index.ts';
import { JobError } from './job-error.ts';

function failed(code: string): JobError {
  const error = { code, message: 'no such order' };
  const job = { id: 'j', name: 'order', state: 'failed', error: null };
  return new JobError({
    ...job,
    tasks: [{ id: 'fetch', state: 'failed', error }],
  } as unknown as JobShape);
}

test('the code is shown unless it is the generic one', () => {
  expect(failed('http_404').message).toBe(
    'Job j (order) failed at task fetch: no such order (http_404)',
  );
  expect(failed('error').message).toBe('Job j (order) failed at task fetch: no such order');
  expect(failed('error').code).toBe('error');
});
