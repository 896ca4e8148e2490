/** The health service of a gRPC server. */
import type { Server } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';

export interface Health {
  /** One service, or with `''` the server as a whole. */
  set(service: string, isServing: boolean): void;
}

/** Nothing is served at first. */
export function addHealth(server: Server, services: readonly string[]): Health {
  const names = ['', ...services];
  const health = new HealthImplementation(
    Object.fromEntries(names.map((name) => [name, 'NOT_SERVING' as const])),
  );
  health.addToServer(server);
  return {
    set: (service, isServing) => health.setStatus(service, isServing ? 'SERVING' : 'NOT_SERVING'),
  };
}
