/** The leader as somebody who submits jobs from far away sees it. */
import type { MillraceError } from '../../../scheduler/core/index.ts';
import { fromWireAnswer, fromWireOneAnswer, toWireNewJob, toWireSignal } from '../codec/change.ts';
import { refuse, wireCount } from '../codec/values.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import type { JobAnswer, LeaderForClients } from '../../../scheduler/contract/index.ts';
import { inParts } from '../limits.ts';
import type { LeaderChannel } from './leader-channel.ts';

const SUBMIT_MS = 30_000;
const CHANGE_MS = 15_000;

export function clientChannel(channel: LeaderChannel): LeaderForClients {
  return {
    async submit(jobs) {
      const wire = jobs.map(toWireNewJob);
      const answers: (JobAnswer | MillraceError)[] = [];
      for (const part of inParts(wire, ({ documentJson }) => documentJson.length)) {
        const method = ControlPlaneService.submitJob;
        const response = await channel.unary(method, { jobs: part }, { deadlineMs: SUBMIT_MS });
        if (response.jobs.length !== part.length) {
          refuse('jobs', `${part.length} jobs were sent, ${response.jobs.length} answered.`);
        }
        for (const reply of response.jobs) answers.push(fromWireAnswer(reply));
      }
      return answers;
    },
    async cancel(id, reason) {
      const method = ControlPlaneService.cancelJob;
      const request = { jobId: id, reason };
      const { job } = await channel.unary(method, request, { deadlineMs: CHANGE_MS });
      return fromWireOneAnswer(job);
    },
    async rerun(id, expectedRun) {
      const method = ControlPlaneService.rerunJob;
      const request = { jobId: id, expectedRun: wireCount(expectedRun ?? 0, 'expected_run') };
      const { job } = await channel.unary(method, request, { deadlineMs: CHANGE_MS });
      return fromWireOneAnswer(job);
    },
    async signal(jobId, name, body, signalId) {
      const method = ControlPlaneService.signalJob;
      const request = toWireSignal({ jobId, name, body, signalId });
      const { job } = await channel.unary(method, request, { deadlineMs: CHANGE_MS });
      return fromWireOneAnswer(job);
    },
  };
}
