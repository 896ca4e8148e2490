import { bracketed, isWildcard } from '../../kit/index.ts';
import { flagName } from '../config/index.ts';
import type { NodeSettings, SettingName } from '../config/index.ts';

/** Settings that a node's worker shares with it. All others it reads for itself. */
const SHARED = [
  'slots',
  'prefetch',
  'data',
  'memoryBytes',
  'threads',
  'spillBytesMax',
  'spillFolder',
  'shuffleFolder',
  'operatorRowsMax',
  'cleanUpMs',
  'tokenFile',
  'tlsCert',
  'tlsKey',
  'tlsCa',
  'advertise',
  'drainMs',
  'abortGraceMs',
  'pollMs',
  'clockOffsetMs',
  'logFormat',
  'logLevel',
  'allowContainer',
] as const satisfies readonly SettingName[];

const LISTS = [
  'modules',
  'roots',
  'expect',
  'allowCommand',
  'allowEnv',
] as const satisfies readonly SettingName[];

const OCTAL = 8;

/** The command line of the worker of this node. Its handlers write files with `fileMask`, as the user who started the node would. */
export function workerFlags(
  node: NodeSettings,
  nodeId: string,
  grpc: string,
  fileMask?: number,
): string[] {
  const flags = ['--server', grpc, '--node-id', nodeId, '--listen', `${bracketed(node.host)}:0`];
  if (fileMask !== undefined) flags.push(`--file-mask=${fileMask.toString(OCTAL)}`);
  // Others find the worker where they find the node: a wildcard is not an address to fetch from.
  if (node.advertise === undefined && isWildcard(node.host))
    flags.push(`--advertise=${grpc.slice(0, grpc.lastIndexOf(':'))}`);
  if (node.insecure) flags.push('--insecure');
  if (node.allowPrivateHttp) flags.push('--allow-private-http');
  if (node.shuffleByNetwork) flags.push('--shuffle-by-network');
  // Without a database no other node can lead: readers of its outputs stop with this node.
  if (node.abandonOutputs || node.database === undefined) flags.push('--abandon-outputs');
  for (const name of SHARED) {
    const value = node[name];
    const flag = flagName(name);
    if (value !== undefined && flag !== null) flags.push(`${flag}=${value}`);
  }
  for (const name of LISTS) {
    const flag = flagName(name);
    for (const value of node[name]) if (flag !== null) flags.push(`${flag}=${value}`);
  }
  for (const [key, value] of Object.entries(node.capabilities)) {
    flags.push(`--capability=${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  }
  return flags;
}
