import { checkedSettings, parseJobDocument, taskNo } from '../../src/scheduler/core/index.ts';
import type { JobDocument } from '../../src/scheduler/core/index.ts';
import type { PlannedQuery } from '../../src/scheduler/coordinator/index.ts';
import { withOwnOptions } from './harness/raw-tasks.ts';
import type { OwnOptions } from './harness/raw-tasks.ts';

/** What a planner could make of a query: a plan that is known, a maker of data, and a reader of it. */
export function sampleQuery(
  sql: string,
  more: Partial<JobDocument> = {},
  own: OwnOptions = {},
): PlannedQuery {
  const raw = {
    name: sql,
    onFailure: 'cancel',
    tasks: [
      { id: 'plan', executor: 'plan' },
      {
        id: 's0.0',
        executor: 'echo',
        dependsOn: ['plan'],
        input: { fragment: { $from: 'plan', path: '/stages/0' } },
      },
      {
        id: 's1.0',
        executor: 'echo',
        dependsOn: ['plan', 's0.0'],
        input: { fragment: { $from: 'plan', path: '/stages/1' }, from: { $from: 's0.0' } },
      },
    ],
    output: { rows: { $from: 's1.0' } },
  };
  const document = withOwnOptions(parseJobDocument(raw, checkedSettings()), {
    plan: { admission: { memoryBytes: 1 } },
    's0.0': { output: 'deterministic' },
    's1.0': { output: 'deterministic' },
    ...own,
  });
  const result = JSON.stringify({ stages: [`scan ${sql}`, `sum ${sql}`] });
  return {
    document: { ...document, ...more },
    seeds: new Map([[taskNo(0), { state: 'succeeded', result }]]),
  };
}
