/** Events that are sent to a runtime under test. */
import { defined } from '../kit/index.ts';
import { isMillraceError } from '../scheduler/core/index.ts';
import type { JobId } from '../scheduler/core/index.ts';
import type { JobService } from '../scheduler/contract/index.ts';
import { sentJobs } from '../client/index.ts';
import type { NewEvent, SendOptions, SentJobs } from '../client/index.ts';

/** As a client answers it. */
export async function sendInMemory(
  service: Pick<JobService, 'send'>,
  newId: () => JobId,
  event: string,
  data: unknown,
  { id, labels }: SendOptions,
): Promise<SentJobs> {
  // As it would arrive at a server.
  const body = JSON.parse(JSON.stringify({ data, id, labels })) as unknown;
  const { jobs, ...sent } = await service.send(event, body, { newId });
  return sentJobs({
    ...sent,
    jobs: jobs.map(({ flow, outcome, because }) => {
      if (isMillraceError(outcome)) return { flow, error: outcome };
      const { jobId, state, changed: isNew } = outcome;
      return { flow, id: jobId, state, isNew, ...defined({ because }) };
    }),
  });
}

export async function sendAllInMemory(
  events: readonly NewEvent[],
  send: (event: NewEvent) => Promise<SentJobs>,
): Promise<readonly (SentJobs | Error)[]> {
  const sent: (SentJobs | Error)[] = [];
  for (const event of events) {
    try {
      sent.push(await send(event));
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      sent.push(error);
    }
  }
  return sent;
}
