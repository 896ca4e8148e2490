/** What a worker says of its machine without being asked. */
import { availableParallelism, totalmem } from 'node:os';
import type { Capabilities } from '../core/index.ts';
import { millraceVersion } from '../protocol/index.ts';

export function machineFacts(): Capabilities {
  return {
    cpu_cores: availableParallelism(),
    memory_bytes: totalmem(),
    os: process.platform,
    arch: process.arch,
    node_version: process.versions.node,
    millrace_version: millraceVersion(),
  };
}
