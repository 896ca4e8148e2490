/** Capabilities that a worker detects itself. */
import { randomBytes } from 'node:crypto';
import { availableParallelism, totalmem } from 'node:os';
import type { Capabilities } from '../../scheduler/core/index.ts';
import { ownProcess } from '../../kit/index.ts';
import { millraceVersion } from '../../scheduler/contract/index.ts';

export function machineCapabilities(): Capabilities {
  return {
    cpu_cores: availableParallelism(),
    memory_bytes: totalmem(),
    os: process.platform,
    arch: process.arch,
    node_version: process.versions.node,
    millrace_version: millraceVersion(),
  };
}

/** Identifies this worker and its process, where the system can tell: a leader on the same machine then sees at once
 * when it is gone, and two workers of one process are never confused. */
export function processCapability(): Capabilities {
  const process = ownProcess();
  return process === null ? {} : { process: `${process}:${randomBytes(4).toString('hex')}` };
}
