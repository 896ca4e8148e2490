/** Why a task waits, as the API shows it: see `Explanation`. */
import { TASK_STATES } from '../../../scheduler/core/index.ts';
import {
  described,
  flag,
  listOf,
  oneOf,
  orNull,
  record,
  ref,
  type Schema,
  text,
  whole,
} from './schema.ts';

export type ExplanationSchemaName = 'Explanation';

export const explanationSchemas: Readonly<Record<ExplanationSchemaName, Schema>> = {
  Explanation: record(
    'Why a task is waiting.',
    {
      jobId: text,
      taskId: text,
      state: oneOf(TASK_STATES),
      code: text,
      why: described('A sentence for people.', text),
      ageMs: described('How long it has been ready.', orNull(whole)),
      nearest: listOf(
        record('The nearest node, and the requirements that it does not meet.', {
          nodeId: text,
          lacks: listOf(text),
          needs: listOf(
            record('A requirement of the task, and what this node has.', {
              need: text,
              seen: text,
              isMet: flag,
            }),
          ),
        }),
      ),
      asOf: ref('AsOf'),
    },
    {
      example: {
        jobId: '0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
        taskId: 'train',
        state: 'ready',
        code: 'no_node_fits',
        why: 'no node fits; the nearest, w-1, lacks capability gpu is missing, needs true',
        ageMs: 1200,
        nearest: [
          {
            nodeId: 'w-1',
            lacks: ['capability gpu is missing, needs true'],
            needs: [{ need: 'gpu = true', seen: 'missing', isMet: false }],
          },
        ],
        asOf: { seq: 42, at: '2026-11-15T02:00:01.000Z' },
      },
    },
  ),
};
