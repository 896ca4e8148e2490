import { expect, test } from 'vitest';
import { fragmentNode, fragmentTask } from '../../../test/rig/fragment-node.ts';
import { attemptsOf, thrownBy } from '../../../test/rig/task-context.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { Engines } from './fragment-executor.ts';

/** They fail as soon as they are lent. */
function enginesThatFail(fault: Error): Engines {
  return { acquire: () => Promise.reject(fault) };
}

/** How each of three attempts fails, and how often a full disk was reported to the node. */
async function failThrice(error: Error): Promise<{ failures: unknown[]; reports: number }> {
  let reports = 0;
  const onDiskFull = (): void => {
    reports += 1;
  };
  const node = await fragmentNode({ engines: enginesThatFail(error), onDiskFull });
  const attempt = attemptsOf('s0.0');
  const failures: unknown[] = [];
  for (const number of [1, 2, 3]) {
    const thrown = await thrownBy(() => node.run(fragmentTask(), attempt(number)));
    expect(thrown).toMatchObject({ code: 'disk_full' });
    failures.push((thrown as { failure?: unknown }).failure);
  }
  return { failures, reports };
}

test.each([
  ['of the node', Object.assign(new Error('full'), { code: 'ENOSPC' })],
  [
    'of DuckDB',
    new MillraceError({
      code: 'disk_full',
      what: 'There is no space left on the disk.',
      why: 'Could not write file "x": No space left on device',
    }),
  ],
])('a full disk %s is the node’s: it is reported, and others may do better', async (_, error) => {
  const { failures, reports } = await failThrice(error);
  expect(failures).toEqual(['retryable', 'retryable', 'retryable']);
  expect(reports).toBe(3);
});

test('a fragment that spills more than it may is tried once more, and the node has room', async () => {
  const error = new MillraceError({
    code: 'disk_full',
    what: 'The query has used all of its spill space.',
  });
  const { failures, reports } = await failThrice(error);
  expect(failures).toEqual(['retryable', 'fatal', 'fatal']);
  expect(reports).toBe(0);
});
