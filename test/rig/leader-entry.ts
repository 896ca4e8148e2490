/** A fake leader behind a real gRPC server, for workers that are processes. */
import { onTestFinished } from 'vitest';
import { MillraceError } from '../../src/scheduler/core/index.ts';
import {
  controlPlaneService,
  heartbeatService,
  startRpcServer,
} from '../../src/edge/grpc/index.ts';
import type { WorkerService, Reader } from '../../src/scheduler/contract/index.ts';

/** Answers HOST:PORT. */
export async function openDoor(leader: WorkerService): Promise<string> {
  const nobody = (): never => {
    throw new MillraceError({ code: 'unimplemented', what: 'Only workers are served here.' });
  };
  const workers = (): WorkerService => leader;
  const server = await startRpcServer({
    host: '127.0.0.1',
    port: 0,
    services: [
      controlPlaneService({
        workers,
        jobs: nobody,
        reader: {} as Reader,
        whoLeads: () => null,
      }),
      heartbeatService({ workers }),
    ],
    tls: null,
  });
  onTestFinished(() => server.stop(0));
  return server.address;
}
