/**
 * A worker process: the real worker on a simulated clock and line. It is started anew when it has drained, when
 * it gives up and when a handler has ended it, as by a supervisor.
 */
import { isMillraceError } from '../../src/scheduler/core/index.ts';
import type {
  Capabilities,
  LeaseName,
  NodeId,
  SessionId,
  Settings,
} from '../../src/scheduler/core/index.ts';
import { ownHandshake } from '../../src/scheduler/contract/index.ts';
import type { ReadyAssignment, Session } from '../../src/scheduler/contract/index.ts';
import { ExecutorRegistry } from '../../src/tasks/executors/index.ts';
import type { TaskContext, TaskLog } from '../../src/tasks/executors/index.ts';
import { HeartbeatLoop, Worker as RealWorker } from '../../src/node/worker/index.ts';
import type { StartHeartbeat } from '../../src/node/worker/heartbeat.ts';
import { leaseKey } from '../../src/node/worker/lease-key.ts';
import { RetainedOutputs } from '../../src/node/worker/retained-outputs.ts';
import type { WorkerSettings } from '../../src/node/worker/settings.ts';
import type { BehaviourOptions } from './behaviour.ts';
import { isWhim } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import type { Findings } from './findings.ts';
import { executorOf } from './handlers.ts';
import type { OutputNetwork } from './outputs.ts';
import { Process } from './process.ts';
import type { Life } from './process.ts';
import type { Random } from './random.ts';
import type { Running, Witness } from './witness.ts';
import { WorkerLine } from './worker-line.ts';
import type { WorkerLineOptions } from './worker-line.ts';
import type { World } from './world.ts';

/** What a worker is like, for as long as the simulation lasts. */
export interface WorkerKind {
  readonly slots: number;
  /** Held ready beyond that; undefined for as many as the run times call for. */
  readonly prefetch: number | undefined;
  readonly executors: readonly string[];
  readonly capabilities: Capabilities;
  readonly stuck: 'end' | 'abandon';
  readonly settings: Partial<WorkerSettings>;
  readonly callMs: number;
}

export interface WorkerOptions {
  readonly name: string;
  readonly kind: WorkerKind;
  readonly world: World;
  readonly random: Random;
  /** The dice of the handlers: the same for all workers. */
  readonly dice: Random;
  readonly settings: Settings;
  readonly cluster: Cluster;
  readonly witness: Witness;
  readonly findings: Findings;
  readonly outputs: OutputNetwork;
  readonly handlers: () => BehaviourOptions;
  readonly isHealed: () => boolean;
  /** Which process it is, for whoever may look for it. */
  readonly named: (life: Life) => string;
}

/** The most that an automatic prefetch may be. */
const PREFETCH_MAX = 500;

export class Worker {
  readonly process: Process;
  readonly #options: WorkerOptions;
  #worker: RealWorker | null = null;
  #session: Session | null = null;
  /** A struck executor keeps it from some work until it registers anew. */
  isStruck = false;

  constructor(options: WorkerOptions) {
    const { name, world, random } = options;
    this.#options = options;
    this.process = new Process(name, world, random, (life) => this.#boot(life));
  }

  get name(): string {
    return this.#options.name;
  }

  get nodeId(): NodeId {
    return this.#options.name as NodeId;
  }

  get kind(): WorkerKind {
    return this.#options.kind;
  }

  get slots(): number {
    return this.kind.slots;
  }

  /** How many leases it may hold. */
  get heldMax(): number {
    const { slots, prefetch = PREFETCH_MAX } = this.kind;
    return slots + prefetch;
  }

  get sessionId(): SessionId | null {
    return this.#session?.sessionId ?? null;
  }

  /** As if an operator had asked the process to end in good order. */
  drain(): void {
    const { life } = this.process;
    life?.run(() => void this.#worker?.stop().catch(() => {}));
  }

  #boot(life: Life): void {
    this.isStruck = false;
    this.#session = null;
    const run = new WorkerRun(this.#options, life, {
      onSession: (session) => (this.#session = session),
      onMissing: () => this.#strike(),
      onDeath: (why) => this.#exit(life, why),
    });
    this.#worker = run.worker;
    run.live().then(
      () => this.#exit(life, 'has drained'),
      (error: unknown) => this.#gaveUp(life, error),
    );
  }

  /** After healing it must be able to do everything again, and a new session is the way to that. */
  #strike(): void {
    this.isStruck = true;
    if (this.#options.isHealed()) this.drain();
  }

  #gaveUp(life: Life, error: unknown): void {
    const { findings, name } = this.#options;
    // Another process has had the name for so long that this one is superfluous; and so is one that was
    // asked to end before it was registered. One whose registration the store rejects cannot do better.
    const isUsual =
      isMillraceError(error, 'name_taken') ||
      isMillraceError(error, 'shutting_down') ||
      isWhim(error);
    if (!isUsual) findings.add('refusals', `${name} breaks: ${String(error)}`);
    this.#exit(life, `gives up: ${String(error)}`);
  }

  #exit(life: Life, why: string): void {
    const { world, random } = this.#options;
    if (this.process.life !== life) return;
    this.process.crash(`ends: ${why}`);
    world.after(random.between(50, 2_000), () => this.process.start());
  }
}

interface RunEvents {
  readonly onSession: (session: Session | null) => void;
  /** It reported that it lacks an executor: nobody asks it again before it registers anew. */
  readonly onMissing: () => void;
  /** The process ends itself. */
  readonly onDeath: (why: string) => void;
}

/** One life of the process. */
class WorkerRun {
  readonly worker: RealWorker;
  readonly #options: WorkerOptions;
  readonly #life: Life;
  readonly #events: RunEvents;
  /** By job, task and fence: what a handler learns of its lease. */
  readonly #assigned: Map<string, ReadyAssignment> = new Map();
  readonly #lost: Set<string> = new Set();
  /** Of the session that lives now. */
  #session = { isOver: false };

  constructor(options: WorkerOptions, life: Life, events: RunEvents) {
    this.#options = options;
    this.#life = life;
    this.#events = events;
    const { name, kind, random } = options;
    const { slots, prefetch, stuck, settings } = kind;
    const process = options.named(life);
    const leader = this.#line(life);
    const own = options.outputs.open(process, life);
    const say = (line: string): void => this.#say(line);
    const retained = new RetainedOutputs({
      ...{ outputs: own, leader, clock: life.clock, say },
      askMs: 10_000,
    });
    this.worker = new RealWorker({
      nodeId: name as NodeId,
      slots,
      ...(prefetch === undefined ? {} : { prefetch }),
      executors: this.#registry({ process, own, all: options.outputs }),
      capabilities: { ...kind.capabilities, process },
      address: null,
      handshake: ownHandshake(),
      leader,
      startHeartbeat: this.#startHeartbeat,
      clock: life.clock,
      random: () => random.fraction(),
      newSessionId: () => random.id('s') as SessionId,
      log: this.#log,
      stuck,
      onStuck: (error) => events.onDeath(error.message),
      onSession: (session) => {
        events.onSession(session);
        retained.showSession(session);
      },
      beforeLeave: (session, signal) => retained.released(session, signal),
      settings,
    });
  }

  /** Until it has drained. */
  async live(): Promise<void> {
    await this.worker.start();
    await this.worker.ended;
  }

  #line(life: Life): WorkerLine {
    const { name, settings, kind, cluster, witness, findings } = this.#options;
    const heard: Pick<WorkerLineOptions, 'onAssigned' | 'onReport' | 'onLost' | 'onOver'> = {
      onAssigned: (assignment) => {
        this.#assigned.set(
          keyOf(assignment.jobId, assignment.taskId, assignment.lease),
          assignment,
        );
      },
      onReport: (item) => {
        if (item.kind === 'failed' && item.failure === 'missing') this.#events.onMissing();
        // A handler that ignores its abort is abandoned: its task goes on elsewhere while it may still run.
        const isGivenBack = item.kind === 'aborted' || item.kind === 'released';
        if (isGivenBack && kind.stuck === 'abandon') this.#lost.add(leaseKey(item.lease));
      },
      onLost: (lease) => void this.#lost.add(leaseKey(lease)),
      onOver: () => (this.#session.isOver = true),
    };
    return new WorkerLine({
      node: name,
      life,
      connection: cluster.connect(life),
      heartbeatMs: settings.heartbeatMs,
      callMs: kind.callMs,
      witness,
      findings,
      ...heard,
    });
  }

  #registry(place: Parameters<typeof executorOf>[1]['place']): ExecutorRegistry {
    const { kind, dice, witness, findings, handlers } = this.#options;
    const registry = new ExecutorRegistry();
    for (const name of kind.executors) {
      const executor = executorOf(name, {
        life: this.#life,
        dice,
        behaviour: handlers,
        place,
        witness,
        findings,
        running: (context) => this.#running(context),
        onKilled: () => this.#events.onDeath('a handler has ended it'),
      });
      registry.add(executor, 'the simulation');
    }
    return registry;
  }

  /** On a thread of its own, which a handler cannot block. */
  readonly #startHeartbeat: StartHeartbeat = (start, tell) => {
    const main = this.#life;
    const thread = main.thread();
    const session = { isOver: false };
    this.#session = session;
    const { random } = this.#options;
    const loop = new HeartbeatLoop({
      leader: this.#line(thread),
      clock: thread.clock,
      random: () => random.fraction(),
      start,
      tell: (news) =>
        main.run(() => {
          if (news.type !== 'answered') session.isOver = true;
          tell(news);
        }),
      onStuck: (why) => this.#events.onDeath(why),
    });
    return {
      moved: (held) => thread.run(() => loop.moved(held)),
      offer: (executors) => thread.run(() => loop.offer(executors)),
      heard: (no) => thread.run(() => loop.heard(no)),
      stop: () => thread.run(() => loop.stop()),
    };
  };

  #running({ jobId, taskId, fence }: TaskContext): Running {
    const assignment = this.#assigned.get(keyOf(jobId, taskId, { fence }));
    if (assignment === undefined) throw new Error(`${jobId}/${taskId} was never given out`);
    const { lease } = assignment;
    const session = this.#session;
    const key = leaseKey(lease);
    return {
      lease,
      life: this.#life,
      isKnownLost: () => session.isOver || this.#lost.has(key),
    };
  }

  readonly #log: TaskLog = {
    debug: () => {},
    info: (line) => this.#say(line),
    warn: (line) => this.#say(line),
    error: (line) => this.#say(line),
  };

  #say(line: string): void {
    if (!this.#life.isOver) this.#options.world.say(this.#options.name, line);
  }
}

function keyOf(jobId: string, taskId: string, { fence }: Pick<LeaseName, 'fence'>): string {
  return `${jobId}/${taskId}/${fence}`;
}
