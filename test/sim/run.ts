/**
 * One simulation from its seed to its verdict: a time of faults, then healing, then everything
 * must come to its end within a stated time, and at last every rule is checked.
 */
import type { JobId } from '../../src/scheduler/core/index.ts';
import { refKey } from '../../src/scheduler/store/index.ts';
import { checkAll } from './checkers/index.ts';
import { gather } from './checkers/evidence.ts';
import { CONCURRENCY } from './documents.ts';
import type { Draft, DraftTask } from './documents.ts';
import type { Finding } from './findings.ts';
import { drawOptions } from './options.ts';
import type { SimulationOptions } from './options.ts';
import { ABLE, Simulation } from './simulation.ts';
import type { Sabotage } from './simulation.ts';
import { Trace } from './trace.ts';

/** After healing, everything that was accepted must have ended within this virtual time. */
const CONVERGE_MS = 1_800_000;
/** A probe runs 2 s; twice as long means that it had to wait for a place that should be free. */
const PROBE_MS = 3_800;
/**
 * When all jobs have ended, a process may still end or lose its session: a drain (8 s at most) whose handlers ignore
 * their abort (5 s), a restart (2 s), a leader that resigns late.
 */
const SETTLE_MS = 20_000;
/** No clock of a process runs slower than this. */
const SLOWEST_RATE = 0.99;
/** A restart (2 s at most), the longest pause between two registrations (1 s), and the accepted one itself. */
const REGISTER_MS = 3_500;

export interface Outcome {
  readonly seed: number;
  readonly options: SimulationOptions;
  readonly findings: readonly Finding[];
  readonly digest: number;
  readonly trace: Trace;
  readonly events: number;
  readonly virtualMs: number;
  readonly jobs: number;
  readonly leases: number;
  /** Of these, second ones of stragglers. */
  readonly duplicates: number;
  readonly terms: number;
  readonly rewinds: number;
}

export interface RunOptions {
  readonly sabotage?: Sabotage;
  readonly print?: (line: string) => void;
  /** How long everything may take to end after healing; a broken cluster need not be given as long. */
  readonly convergeMs?: number;
  /** Instead of what the seed would draw. */
  readonly change?: (drawn: SimulationOptions) => SimulationOptions;
}

export async function simulate(seed: number, options: RunOptions = {}): Promise<Outcome> {
  const usual = drawOptions(seed);
  // Planted faults are looked for in the jobs that they were planted for.
  const words = options.sabotage === undefined ? usual.words : { ...usual.words, batchRate: 0 };
  const drawn = (options.change ?? unchanged)({ ...usual, words });
  const trace = new Trace(400, options.print ?? null);
  const simulation = new Simulation(drawn, trace, options.sabotage);
  const isAtRest = await runPhases(simulation, options.convergeMs ?? CONVERGE_MS);
  const { world, journal, witness, findings, workers, store } = simulation;
  const evidence = await gather(store, {
    journal,
    witness,
    findings,
    slots: new Map(workers.map((worker) => [worker.name, worker.heldMax])),
    healedAt: simulation.healedAt,
    driftMs: drawn.settings.leaderTtlMs * 0.03,
    settings: drawn.settings,
  });
  checkAll(evidence, isAtRest);
  return {
    seed,
    options: drawn,
    findings: findings.list,
    digest: trace.digest,
    trace,
    events: world.events,
    virtualMs: world.nowMs,
    jobs: evidence.tables.jobs.size,
    leases: evidence.replay.leases.length,
    duplicates: evidence.replay.leases.filter(({ isDuplicate }) => isDuplicate).length,
    terms: journal.terms.length,
    rewinds: journal.rewinds,
  };
}

const unchanged = (drawn: SimulationOptions): SimulationOptions => drawn;

/** Returns whether everything came to rest. */
async function runPhases(simulation: Simulation, convergeMs: number): Promise<boolean> {
  const { world, clients, findings, journal, options } = simulation;
  const isBroken = (): boolean => !findings.isEmpty;
  simulation.start();
  if (await world.run(options.safetyMs, isBroken)) return false;
  simulation.heal();
  for (const client of clients) client.stop();
  const untilMs = world.nowMs + convergeMs;
  const isAnswered = (): boolean => clients.every((client) => client.isIdle);
  if (!(await world.run(untilMs, () => isBroken() || isAnswered()))) {
    findings.add('rest', 'a client was not answered after healing');
  }
  if (isBroken()) return false;
  let isQuiet = false;
  void clients[0]?.endSchedules().then(() => (isQuiet = true));
  void clients[0]?.answerAll(() => isBroken() || journal.live.size === 0);
  await world.run(untilMs, () => isBroken() || (isQuiet && journal.live.size === 0));
  if (!isBroken() && journal.live.size > 0) await explainStuck(simulation);
  if (isBroken()) return false;
  await probe(simulation);
  return findings.isEmpty;
}

/** What is still open, and why the leader says that it is. */
async function explainStuck({
  world,
  store,
  findings,
  journal,
  coordinators,
}: Simulation): Promise<void> {
  const leader = coordinators.find((each) => each.leader !== null)?.leader;
  if (leader === undefined || leader === null) return findings.add('rest', 'nobody leads');
  const lines: string[] = [];
  for (const jobId of [...journal.live].slice(0, 5)) {
    const view = await store.job(0, jobId as JobId);
    for (const { spec, task } of view?.tasks ?? []) {
      if (task.finishedAt !== null) continue;
      let why = 'the leader says nothing';
      leader.jobs.explain(jobId as JobId, spec.id).then(
        (explanation) => (why = explanation?.why ?? 'the leader does not know it'),
        (error: unknown) => (why = String(error)),
      );
      await world.run(world.nowMs + 10_000);
      lines.push(
        `${jobId}/${spec.id} (${refKey(spec.jobNo, spec.taskNo)}) is ${task.state}: ${why}`,
      );
    }
  }
  findings.add('rest', `${journal.live.size} jobs did not end: ${lines.join('; ')}`);
}

/** Nothing is held any more: every place of every node, then of every key, can be used at once. */
async function probe(simulation: Simulation): Promise<void> {
  const { world, workers } = simulation;
  await world.run(world.nowMs + SETTLE_MS);
  await world.run(world.nowMs + absenceMs(simulation), () => isComplete(simulation));
  const places = workers.flatMap((worker) =>
    Array.from({ length: worker.slots }, (_, at) => probeTask(`${worker.name}.${at}`, worker.name)),
  );
  await probeWith(simulation, 'probe-slots', { tasks: places });
  const keys = Object.entries(CONCURRENCY).flatMap(([key, limit]) =>
    Array.from({ length: limit }, (_, at) => ({
      ...probeTask(`${key}.${at}`, ABLE),
      concurrency: { key, limit },
    })),
  );
  await probeWith(simulation, 'probe-keys', { tasks: keys });
}

/**
 * How long a node may still be away. Without proof that its last process is gone, a new one gets the name when the
 * session of the last one expires: a whole TTL, by the leader's clock, after its last message or after the last fail-over.
 */
function absenceMs({ options }: Simulation): number {
  return options.settings.sessionTtlMs / SLOWEST_RATE + REGISTER_MS;
}

/** Returns whether every node has a session. Of a worker and its twin one has it. */
function isComplete({ workers, twins }: Simulation): boolean {
  const all = [...workers, ...twins];
  const present = all.filter(({ process, sessionId }) => process.isUp && sessionId !== null);
  const names = new Set(present.map(({ name }) => name));
  return workers.every(({ name }) => names.has(name));
}

function probeTask(id: string, node: string): DraftTask {
  return { id, executor: 'probe', dependsOn: [], placement: { allowedNodes: [node] } };
}

async function probeWith(simulation: Simulation, id: string, document: Draft): Promise<void> {
  const { world, clients, findings, journal, store } = simulation;
  const submitted = clients[0]?.submitProbe(id as JobId, document);
  await world.run(world.nowMs + 60_000, () => journal.hasJob(id) && !journal.live.has(id));
  await submitted;
  const row = await store.jobRow(0, id as JobId);
  const tookMs = (row?.finishedAt ?? Infinity) - (row?.createdAt ?? 0);
  if (row?.state !== 'succeeded' || tookMs > PROBE_MS) {
    const leader = simulation.coordinators.find((each) => each.leader !== null)?.leader;
    findings.add(
      'capacity',
      `${id} is ${row?.state} after ${tookMs} ms (epoch ${leader?.term.epoch})`,
    );
  }
}
