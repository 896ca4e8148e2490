/** A worker's part in queries: its fragments, the outputs that it keeps, and where others fetch them. */
import { openQueryNode } from '../../sql/worker/index.ts';
import type { QueryNode } from '../../sql/worker/index.ts';
import { ShuffleChannel } from '../../edge/grpc/index.ts';
import type { WorkerService } from '../../scheduler/contract/index.ts';
import type { RegisteredOperator } from '../../tasks/executors/index.ts';
import { tokenToShow } from './channel.ts';
import type { ChannelOptions } from './channel.ts';
import { RetainedOutputs } from './retained-outputs.ts';
import { processClock } from './process-clock.ts';

export interface QuerySettings {
  /** Where outputs lie; a temporary folder if not given. */
  readonly data: string | undefined;
  readonly memoryBytes: number | undefined;
  readonly threads: number | undefined;
  readonly spillBytesMax: number | undefined;
  readonly spillFolder: string | undefined;
  readonly shuffleFolder: string | undefined;
  readonly operatorRowsMax: number;
  readonly cleanUpMs: number;
  readonly roots: readonly string[];
  readonly shuffleByNetwork: boolean;
  readonly abandonOutputs: boolean;
  /** The largest result of a task. */
  readonly resultBytesMax: number;
}

export interface QueryWorkOptions extends QuerySettings {
  readonly nodeId: string;
  readonly slots: number;
  readonly channel: ChannelOptions;
  readonly leader: WorkerService;
  readonly address: () => Promise<string | null>;
  /** Whether other workers find it there. */
  readonly canBeReached: boolean;
  readonly say: (line: string) => void;
  /** Custom operators and functions of this worker. */
  readonly operators: () => readonly RegisteredOperator[];
  /** A shortage of the node has begun or ended. */
  readonly onPressure: () => void;
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
