/** gRPC reflection: tools ask a server for its services. */
import { fileURLToPath } from 'node:url';
import type { Server } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { PackageDefinition } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { protoPath as healthProto } from 'grpc-health-check';
import { withWholeNames } from './descriptors.ts';

/** Three levels up from here is the package, in `src` as in `dist`. */
const protoFolder: string = fileURLToPath(new URL('../../../../proto/', import.meta.url));
const FILES = ['control_plane', 'heartbeat', 'shuffle', 'worker'];

const HEALTH = 'grpc.health.v1.Health';
let known: PackageDefinition | null = null;

function described(): PackageDefinition {
  known ??= wholeNamed(
    loadSync([...FILES.map((name) => `millrace/v1/${name}.proto`), healthProto], {
      includeDirs: [protoFolder],
      keepCase: true,
    }),
  );
  return known;
}

/** Every entry carries the files of all: one is enough, and reflection reads nothing else. */
function wholeNamed(loaded: PackageDefinition): PackageDefinition {
  const files = new Map<string, Uint8Array>();
  for (const { fileDescriptorProtos } of Object.values(loaded)) {
    if (!Array.isArray(fileDescriptorProtos)) continue;
    for (const bytes of fileDescriptorProtos) files.set(bytes.toString('base64'), bytes);
  }
  const fileDescriptorProtos = withWholeNames([...files.values()]);
  const format = 'Protocol Buffer 3 DescriptorProto';
  return {
    all: { format, type: {}, fileDescriptorProtos } as unknown as PackageDefinition[string],
  };
}

/** Lists only what this server really offers. */
export function addReflection(server: Server, services: readonly string[]): void {
  new ReflectionService(described(), { services: [...services, HEALTH] }).addToServer(server);
}
