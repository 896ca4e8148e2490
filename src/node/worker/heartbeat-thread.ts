/** The main thread's side of the heartbeat thread: one thread for all sessions of the process. */
import type { Worker as Thread } from 'node:worker_threads';
import { startThread } from '../../kit/index.ts';
import type { StartHeartbeat } from './heartbeat.ts';
import type { Connector, FromThread, ToThread } from './thread-messages.ts';

export class HeartbeatThread {
  readonly #thread: Thread;
  readonly #tells: Map<number, Parameters<StartHeartbeat>[1]> = new Map();
  #sessions = 0;
  #isClosed = false;

  /** `onBroken` when the thread is gone: without it no lease can be kept. */
  constructor(connector: Connector, onBroken: (error: Error) => void) {
    this.#thread = startThread(import.meta.url, './heartbeat-entry', {
      workerData: connector,
      name: 'heartbeat',
    });
    this.#thread.on('message', ({ session, news }: FromThread) => this.#tells.get(session)?.(news));
    this.#thread.on('error', onBroken);
    this.#thread.on('exit', (code) => {
      if (!this.#isClosed) onBroken(new Error(`The heartbeat thread ended with code ${code}.`));
    });
  }

  readonly startHeartbeat: StartHeartbeat = (start, tell) => {
    this.#sessions += 1;
    const session = this.#sessions;
    this.#tells.set(session, tell);
    this.#post({ session, type: 'begin', start });
    return {
      change: (change) => this.#post({ session, type: 'change', change }),
      offer: (executors) => this.#post({ session, type: 'offer', executors }),
      heard: (no) => this.#post({ session, type: 'heard', no }),
      stop: () => {
        this.#tells.delete(session);
        this.#post({ session, type: 'stop' });
      },
    };
  };

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread.terminate();
  }

  #post(message: ToThread): void {
    // Nothing is handed over: all of it is copied.
    this.#thread.postMessage(message, []);
  }
}
