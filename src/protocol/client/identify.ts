/**
 * Who is at an address? A refused connection proves that the process which listened there is gone;
 * silence proves nothing. gRPC reports both alike, so the connection is tried without it first.
 */
import { connect } from 'node:net';
import { type Clock, deferred, systemClock } from '../../kit/index.ts';
import type { SessionId } from '../../core/index.ts';
import { WorkerServiceService } from '../gen/millrace/v1/worker.ts';
import type { ConnectionOptions } from './connections.ts';
import { LeaderChannel } from './leader-channel.ts';

export type Identity = { readonly sessionId: SessionId } | 'refused' | 'silent';

export interface IdentifyOptions extends ConnectionOptions {
  readonly timeoutMs?: number;
  readonly clock?: Clock;
}

const TIMEOUT_MS = 2_000;

/** Never throws. */
export async function identify(address: string, options: IdentifyOptions): Promise<Identity> {
  const { timeoutMs = TIMEOUT_MS, clock = systemClock } = options;
  const place = hostAndPort(address);
  if (place === null) return 'silent';
  const knocked = await knock(place, timeoutMs, clock);
  if (knocked !== 'open') return knocked;
  const channel = new LeaderChannel({ ...options, addresses: [address] });
  try {
    const answer = await channel.unary(
      WorkerServiceService.identify,
      {},
      { deadlineMs: timeoutMs },
    );
    return answer.sessionId === '' ? 'silent' : { sessionId: answer.sessionId as SessionId };
  } catch {
    return 'silent';
  } finally {
    channel.close();
  }
}

interface Place {
  readonly host: string;
  readonly port: number;
}

function hostAndPort(address: string): Place | null {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(address) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  return host === undefined || port > 65_535 ? null : { host, port };
}

async function knock(
  place: Place,
  timeoutMs: number,
  clock: Clock,
): Promise<'open' | 'refused' | 'silent'> {
  const outcome = deferred<'open' | 'refused' | 'silent'>();
  const socket = connect(place);
  const cancelTimer = clock.after(timeoutMs, () => outcome.resolve('silent'));
  socket.once('connect', () => outcome.resolve('open'));
  socket.on('error', (fault) => outcome.resolve(isRefusal(fault) ? 'refused' : 'silent'));
  try {
    return await outcome.promise;
  } finally {
    cancelTimer();
    socket.destroy();
  }
}

/** A name with several addresses fails with all of their errors. */
function isRefusal(fault: Error & { readonly code?: string }): boolean {
  if (fault instanceof AggregateError) {
    return fault.errors.length > 0 && fault.errors.every((each) => isRefusal(each as Error));
  }
  return fault.code === 'ECONNREFUSED';
}
