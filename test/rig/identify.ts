import { LeaderChannel } from '../../src/edge/grpc/index.ts';
import { WorkerServiceService } from '../../src/edge/grpc/gen/millrace/v1/worker.ts';

/** What a worker's session is called, as the worker says; an empty one before its first, null for those whom it does not answer. */
export async function identify(
  address: string,
  token: string | null = null,
): Promise<string | null> {
  const channel = new LeaderChannel({ tls: null, token: () => token, addresses: [address] });
  try {
    const ask = WorkerServiceService.identify;
    return (await channel.unary(ask, {}, { deadlineMs: 10_000 })).sessionName;
  } catch {
    return null;
  } finally {
    channel.close();
  }
}
