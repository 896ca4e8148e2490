/** A client of the gRPC calls about jobs, for tests and benchmarks: Millrace's own client uses HTTP. */
import type { MillraceError } from '../../src/scheduler/core/index.ts';
import {
  fromWireJobReply,
  fromWireOneReply,
  toWireNewJob,
  toWireSignal,
} from '../../src/edge/grpc/codec/change.ts';
import { refuse, wireCount } from '../../src/edge/grpc/codec/values.ts';
import { ControlPlaneService } from '../../src/edge/grpc/gen/millrace/v1/control_plane.ts';
import type { JobReply, JobService } from '../../src/scheduler/contract/index.ts';
import { inParts } from '../../src/edge/grpc/limits.ts';
import type { LeaderChannel } from '../../src/edge/grpc/client/leader-channel.ts';

const SUBMIT_MS = 30_000;
const CHANGE_MS = 15_000;

type RemoteJobService = Pick<JobService, 'submitAll' | 'cancel' | 'rerun' | 'signal'>;

export function grpcJobs(channel: LeaderChannel): RemoteJobService {
  return {
    async submitAll(jobs) {
      const wire = jobs.map(toWireNewJob);
      const replies: (JobReply | MillraceError)[] = [];
      for (const part of inParts(wire, ({ documentJson }) => documentJson.length)) {
        const method = ControlPlaneService.submitJob;
        const response = await channel.unary(method, { jobs: part }, { deadlineMs: SUBMIT_MS });
        if (response.jobs.length !== part.length) {
          refuse('jobs', `Sent ${part.length} jobs but received ${response.jobs.length} answers.`);
        }
        for (const reply of response.jobs) replies.push(fromWireJobReply(reply));
      }
      return replies;
    },
    async cancel(jobId, reason) {
      const method = ControlPlaneService.cancelJob;
      const request = { jobId, reason };
      const { job } = await channel.unary(method, request, { deadlineMs: CHANGE_MS });
      return fromWireOneReply(job);
    },
    async rerun(jobId, expectedRun) {
      const method = ControlPlaneService.rerunJob;
      const request = { jobId, expectedRun: wireCount(expectedRun ?? 0, 'expected_run') };
      const { job } = await channel.unary(method, request, { deadlineMs: CHANGE_MS });
      return fromWireOneReply(job);
    },
    async signal(jobId, name, body, signalId) {
      const method = ControlPlaneService.signalJob;
      const request = toWireSignal({ jobId, name, body, signalId });
      const { job } = await channel.unary(method, request, { deadlineMs: CHANGE_MS });
      return fromWireOneReply(job);
    },
  };
}
