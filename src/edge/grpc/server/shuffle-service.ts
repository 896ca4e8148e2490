/** Serves the data between stages to other nodes. */
import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { MillraceError } from '../../../scheduler/core/index.ts';
import { systemClock } from '../../../kit/index.ts';
import { encodeChunk } from '../codec/partition-chunk.ts';
import { fromWireMapOutput, fromWireRange } from '../codec/shuffle.ts';
import { fromWireSession } from '../codec/session.ts';
import { ShuffleServiceService } from '../gen/millrace/v1/shuffle.ts';
import type {
  FetchShufflePartitionRequest,
  RegisterMapOutputRequest,
} from '../gen/millrace/v1/shuffle.ts';
import { STALLED_READER_MS } from '../limits.ts';
import type { PartitionChunk, ShuffleSource } from '../../../scheduler/contract/index.ts';
import { type RpcService, streaming, unary } from './handlers.ts';
import { boundSession } from './session-binding.ts';

/** Chunks are large: one on its way and one that is ready are enough to keep a connection busy. */
const PENDING_CHUNKS_MAX = 3;

/** `source` answers null where no data is kept. */
export function shuffleService(source: () => ShuffleSource | null = () => null): RpcService {
  const present = (): ShuffleSource => source() ?? refuse();
  return {
    definition: {
      ...ShuffleServiceService,
      fetchShufflePartition: {
        ...ShuffleServiceService.fetchShufflePartition,
        responseSerialize: (message: Buffer) => message,
      },
    },
    handlers: (life): UntypedServiceImplementation => ({
      registerMapOutput: unary(life, async (request: RegisterMapOutputRequest, call) => {
        const by = request.workerId === '' ? null : boundSession(fromWireSession(request), call);
        await present().register(fromWireMapOutput(request), by);
        return {};
      }),
      fetchShufflePartition: streaming(
        {
          life,
          clock: systemClock,
          stalledMs: STALLED_READER_MS,
          pendingMax: PENDING_CHUNKS_MAX,
        },
        (request: FetchShufflePartitionRequest, signal) =>
          encoded(present().fetch(fromWireRange(request), signal)),
      ),
    }),
  };
}

/** At once: the payload of a chunk is not for longer. */
async function* encoded(chunks: AsyncIterable<PartitionChunk>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield encodeChunk(chunk);
}

function refuse(): never {
  throw new MillraceError({
    code: 'unimplemented',
    what: 'This node stores no query outputs.',
    todo: 'Ask the worker that produced the output.',
  });
}
