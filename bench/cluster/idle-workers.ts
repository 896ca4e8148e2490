/** Many workers that wait, in one process: `idle-workers.ts SERVER FROM COUNT`. */
import { randomUUID } from 'node:crypto';
import type { NodeId, NodeOffer, SessionId } from '../../src/scheduler/core/index.ts';
import { ownHandshake } from '../../src/scheduler/contract/index.ts';
import { LeaderChannel, keepAliveFor, workerChannel } from '../../src/edge/grpc/index.ts';
import { pause } from './contender.ts';

const [server = '', from = '0', count = '0'] = process.argv.slice(2);
const SESSION_TTL_MS = 20_000;
const SELDOM_MS = 3_600_000;
const POLL_MS = 30_000;
const SLOTS = 8;
const EXECUTORS = ['echo', 'sleep'];
/** Registered at the same time. */
const AT_ONCE = 20;

/** As a real one has two: the session's own thread does not share the connection of the work. */
function line(isForBeats: boolean): ReturnType<typeof workerChannel> {
  const often = keepAliveFor(SESSION_TTL_MS);
  const keepAlive = isForBeats ? { ...often, everyMs: SELDOM_MS } : often;
  const channel = new LeaderChannel({ addresses: [server], tls: null, keepAlive });
  return workerChannel({ channel, pollWaitMs: POLL_MS });
}

function offerOf(id: string): NodeOffer {
  const { millrace } = ownHandshake();
  const facts = { prefetch: 0, capabilities: {}, address: null, version: millrace };
  const ids = { id: id as NodeId, sessionId: randomUUID() as SessionId };
  return { ...ids, slots: SLOTS, executors: EXECUTORS, ...facts };
}

async function work(id: string): Promise<void> {
  const [tasks, beats] = [line(false), line(true)];
  const offer = offerOf(id);
  const { heartbeatMs } = await tasks.register(offer, ownHandshake());
  const session = { nodeId: offer.id, sessionId: offer.sessionId };
  let seenPoll = 0;
  const beat = (): void => {
    const state = { held: [], seenPoll, executors: EXECUTORS };
    void beats.heartbeat({ ...session, ...state }).catch(fail);
  };
  const poll = async (): Promise<never> => {
    for (let pollNo = 1; ; pollNo += 1) {
      const request = { ...session, pollNo, capacity: SLOTS, held: [] };
      await tasks.poll(request, new AbortController().signal);
      seenPoll = pollNo;
    }
  };
  // Not all in the same instant, as in life.
  setTimeout(() => setInterval(beat, heartbeatMs), Math.random() * heartbeatMs);
  poll().catch(fail);
}

/** One that drops out would make the rest look cheaper. */
function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

let next = Number(from);
const last = next + Number(count);
const start = async (): Promise<void> => {
  while (next < last) {
    next += 1;
    await work(`idle-${next}`);
  }
};
await Promise.all(Array.from({ length: AT_ONCE }, start)).catch(fail);
// Every one has polled and beaten at least once.
await pause(500);
process.stdout.write('ready\n');
process.on('SIGTERM', () => process.exit(0));
