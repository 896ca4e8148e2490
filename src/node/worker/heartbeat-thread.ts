/** The main thread's side of the heartbeat thread: one thread for all sessions of the process. */
import type { Worker as Thread } from 'node:worker_threads';
import { type Deferred, deferred, startThread } from '../../kit/index.ts';
import type { WorkerFigures } from '../../scheduler/contract/index.ts';
import type { StartHeartbeat } from './heartbeat.ts';
import type { Connector, FromThread, ToThread } from './thread-messages.ts';

/** A thread that was asked to end and still runs after this long is terminated. */
const CLOSE_MS = 10_000;

export class HeartbeatThread {
  readonly #thread: Thread;
  readonly #exited: Deferred<void> = deferred();
  readonly #tells: Map<number, Parameters<StartHeartbeat>[1]> = new Map();
  readonly #measure: () => WorkerFigures | undefined;
  #sessions = 0;
  #isClosed = false;

  /** `onBroken` when the thread is gone: without it no lease can be kept. */
  constructor(
    { transfer = [], ...connector }: Connector,
    onBroken: (error: Error) => void,
    measure: () => WorkerFigures | undefined = () => undefined,
  ) {
    this.#measure = measure;
    this.#thread = startThread(import.meta.url, './heartbeat-entry', {
      workerData: connector,
      transferList: [...transfer],
      name: 'heartbeat',
    });
    this.#thread.on('message', ({ session, news }: FromThread) => this.#tells.get(session)?.(news));
    this.#thread.on('error', onBroken);
    this.#thread.on('exit', (code) => {
      this.#exited.resolve();
      if (!this.#isClosed) onBroken(new Error(`The heartbeat thread ended with code ${code}.`));
    });
  }

  readonly startHeartbeat: StartHeartbeat = (start, tell) => {
    this.#sessions += 1;
    const session = this.#sessions;
    this.#tells.set(session, tell);
    this.#post({ session, type: 'begin', start });
    return {
      moved: (held) => this.#post({ session, type: 'moved', held }),
      offer: (executors) => this.#post({ session, type: 'offer', executors }),
      heard: (no) => this.#post({ session, type: 'heard', no, figures: this.#measure() }),
      stop: () => {
        this.#tells.delete(session);
        this.#post({ session, type: 'stop' });
      },
    };
  };

  /** The thread ends by itself: Node.js may crash when one is terminated while it reads from an HTTP/2 connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#post('close');
    const timer = setTimeout(() => void this.#thread.terminate(), CLOSE_MS);
    await this.#exited.promise;
    clearTimeout(timer);
  }

  #post(message: ToThread): void {
    // Nothing is handed over: all of it is copied.
    this.#thread.postMessage(message, []);
  }
}
