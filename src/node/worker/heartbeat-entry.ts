/** Runs in the heartbeat thread: the loop, with a connection of its own. */
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { HeartbeatStart } from './heartbeat.ts';
import { HeartbeatLoop } from './heartbeat-loop.ts';
import { processClock } from './process-clock.ts';
import type {
  Connector,
  ConnectorModule,
  FromThread,
  ToSession,
  ToThread,
} from './thread-messages.ts';

const { module, options } = workerData as Omit<Connector, 'transfer'>;
const port = parentPort;
if (port === null) throw new Error('The heartbeat runs in a thread.');

// Messages wait at the port until there is a listener: none is lost while the module is loaded.
const connector = (await import(module)) as ConnectorModule;
const sessions = new Map<number, { readonly loop: HeartbeatLoop; readonly close: () => void }>();

/** The main thread is blocked, so only this thread can end the process; it may not stop half-way. */
function endProcess(why: string): void {
  writeSync(2, `millrace: this worker exits: ${why}.\n`);
  process.kill(process.pid, 'SIGKILL');
}

function begin(session: number, start: HeartbeatStart): void {
  const { leader, close } = connector.connect(options, start);
  const loop = new HeartbeatLoop({
    leader,
    clock: processClock,
    random: Math.random,
    start,
    tell: (news) => port?.postMessage({ session, news } satisfies FromThread),
    onStuck: endProcess,
  });
  sessions.set(session, { loop, close });
}

function stop(session: number): void {
  const known = sessions.get(session);
  known?.loop.stop();
  known?.close();
  sessions.delete(session);
}

function tell(message: ToSession): void {
  const loop = sessions.get(message.session)?.loop;
  switch (message.type) {
    case 'begin':
      return begin(message.session, message.start);
    case 'moved':
      return loop?.moved(message.held);
    case 'offer':
      return loop?.offer(message.executors);
    case 'heard':
      return loop?.heard(message.no, message.figures);
    case 'stop':
      return stop(message.session);
  }
}

port.on('message', (message: ToThread) => {
  if (message !== 'close') return tell(message);
  for (const session of sessions.keys()) stop(session);
  // The thread ends when nothing of it is open any more.
  port.close();
});
