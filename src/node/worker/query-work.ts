/** A worker's part in queries: its fragments, the outputs that it keeps, and where others fetch them. */
import { openQueryNode } from '../../sql/worker/index.ts';
import type { QueryNode, QueryNodeOptions } from '../../sql/worker/index.ts';
import { ShuffleChannel } from '../../edge/grpc/index.ts';
import type { WorkerService } from '../../scheduler/contract/index.ts';
import { tokenToShow } from './channel.ts';
import type { ChannelOptions } from './channel.ts';
import { RetainedOutputs } from './retained-outputs.ts';
import { processClock } from './process-clock.ts';

type FolderSettings = Pick<QueryNodeOptions, 'data' | 'spillFolder' | 'shuffleFolder' | 'roots'>;
type LimitSettings = Pick<
  QueryNodeOptions,
  'memoryBytes' | 'threads' | 'spillBytesMax' | 'operatorRowsMax' | 'resultBytesMax'
>;

export interface QuerySettings extends FolderSettings, LimitSettings {
  readonly cleanUpMs: number;
  readonly shuffleByNetwork: boolean;
  readonly abandonOutputs: boolean;
}

export interface QueryWorkOptions
  extends QuerySettings, Omit<QueryNodeOptions, 'shuffleInPlace' | 'remoteShuffle'> {
  readonly channel: ChannelOptions;
  readonly leader: WorkerService;
  /** Whether other workers reach it at its address. */
  readonly canBeReached: boolean;
  readonly say: (line: string) => void;
}

export interface QueryWork {
  readonly node: QueryNode;
  readonly kept: RetainedOutputs;
  close(): Promise<void>;
}

/** Null where no queries can run. */
export async function openQueryWork(options: QueryWorkOptions): Promise<QueryWork | null> {
  const { channel, leader, say } = options;
  const opened = await openQueryNode({
    ...options,
    shuffleInPlace: !options.shuffleByNetwork,
    remoteShuffle: () => new ShuffleChannel({ tls: channel.tls, token: tokenToShow(channel) }),
  });
  if (opened === null) return null;
  const node = options.canBeReached ? opened : withoutFragments(opened, say);
  const kept = new RetainedOutputs({
    ...{ outputs: node, leader, clock: processClock, say },
    askMs: options.cleanUpMs,
  });
  const close = async (): Promise<void> => {
    await kept.close();
    await node.close();
  };
  return { node, kept, close };
}

/** Its outputs would be lost to their readers. */
function withoutFragments(node: QueryNode, say: (line: string) => void): QueryNode {
  say(
    'This worker runs no queries: other nodes could not fetch its outputs, because no address is ' +
      'known under which they can reach it. Set --listen HOST:PORT or --advertise HOST.',
  );
  return { ...node, executors: node.executors.filter(({ name }) => name === 'sql') };
}
