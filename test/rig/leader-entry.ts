/** A fake leader behind a real gRPC server, for workers that are processes. */
import { onTestFinished } from 'vitest';
import { MillraceError } from '../../src/scheduler/core/index.ts';
import {
  controlPlaneService,
  heartbeatService,
  startRpcServer,
} from '../../src/edge/grpc/index.ts';
import type { LeaderForWorkers, Reader } from '../../src/scheduler/contract/index.ts';

/** Answers HOST:PORT. */
export async function openDoor(leader: LeaderForWorkers): Promise<string> {
  const nobody = (): never => {
    throw new MillraceError({ code: 'unimplemented', what: 'Only workers are served here.' });
  };
  const workers = (): LeaderForWorkers => leader;
  const server = await startRpcServer({
    host: '127.0.0.1',
    port: 0,
    services: [
      controlPlaneService({
        workers,
        clients: nobody,
        reader: {} as Reader,
        whoLeads: () => null,
      }),
      heartbeatService(workers),
    ],
    tls: null,
  });
  onTestFinished(() => server.stop(0));
  return server.address;
}
