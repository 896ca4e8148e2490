/** A real leader on a store in memory and workers that speak to it directly, all on one virtual clock. */
import { MillraceError } from '../../src/scheduler/core/index.ts';
import type { Json, TaskId, TaskRow } from '../../src/scheduler/core/index.ts';
import type { WorkerService } from '../../src/scheduler/contract/index.ts';
import type { Store } from '../../src/scheduler/store/index.ts';
import { jobId, lead, memoryStore } from './lead.ts';
import type { Led } from './lead.ts';
import { VirtualClock } from './virtual-clock.ts';
import { calm, rig } from './worker-rig.ts';
import type { Rig, RigOptions } from './worker-rig.ts';

/** How long a leader counts as alive without a message. */
const TERM_MS = 10_000;

export class LedCluster {
  readonly clock: VirtualClock = new VirtualClock();
  readonly store: Store = memoryStore(this.clock);
  #led: Led | null = null;
  readonly #rigs: Rig[] = [];

  static async start(): Promise<LedCluster> {
    const cluster = new LedCluster();
    await cluster.elect();
    return cluster;
  }

  get leader(): Led['leader'] {
    if (this.#led === null) throw new Error('nobody leads');
    return this.#led.leader;
  }

  async join(options: Partial<RigOptions> = {}): Promise<Rig> {
    const made = rig({ leader: this.#toLeader(), virtual: this.clock, ...options });
    this.#rigs.push(made);
    const starting = made.worker.start();
    await this.pass(10);
    await starting;
    return made;
  }

  /** Time, in steps: what each sets in motion may take several turns of the loop. */
  async pass(ms: number): Promise<void> {
    for (let step = 0; step < 20; step += 1) {
      await this.clock.advance(ms / 20);
      await calm();
    }
  }

  async resign(): Promise<void> {
    await this.leader.end(new MillraceError({ code: 'shutting_down', what: 'The leader goes.' }));
  }

  /** Once the term of the one before is over. */
  async elect(): Promise<void> {
    this.#led = await lead(this.store, this.clock);
    await this.#led.leader.loaded;
  }

  /** The leader goes, and another one comes when its time is over. */
  async changeLeader(): Promise<void> {
    await this.resign();
    await this.pass(TERM_MS);
    await this.elect();
    await this.pass(TERM_MS);
  }

  async submit(name: string, ...tasks: object[]): Promise<void> {
    await this.leader.jobs.submit({ name, tasks }, { jobId: jobId(name) });
  }

  async signal(job: string, name: string, value: Json, id: string = name): Promise<void> {
    await this.leader.jobs.signal(jobId(job), name, JSON.stringify(value), id);
  }

  async task(job: string, task: string): Promise<TaskRow | undefined> {
    return (await this.store.task(0, jobId(job), task as TaskId))?.task;
  }

  async result(job: string, task: string): Promise<unknown> {
    const text = (await this.store.task(0, jobId(job), task as TaskId))?.result ?? null;
    return text === null ? undefined : (JSON.parse(text) as unknown);
  }

  async end(): Promise<void> {
    const stopped = this.#rigs.map(({ worker }) => worker.stop());
    await this.pass(40_000);
    await Promise.all(stopped);
  }

  /** Speaks to whoever leads, as a channel would. */
  #toLeader(): WorkerService {
    return {
      register: (offer, handshake) => this.leader.workers.register(offer, handshake),
      heartbeat: (beat) => this.leader.workers.heartbeat(beat),
      poll: (request, signal) => this.leader.workers.poll(request, signal),
      report: (session, items) => this.leader.workers.report(session, items),
      unneeded: (session, queries, kind) => this.leader.workers.unneeded(session, queries, kind),
      writeLogs: (session, lines) => this.leader.workers.writeLogs(session, lines),
      leave: (session) => this.leader.workers.leave(session),
    };
  }
}
