/**
 * A swarm: every seed draws its own cluster, load and faults, and switches each fault on or off,
 * since a run with every fault at once hides what one of them alone would show.
 */
import { checkedSettings } from '../../src/scheduler/core/index.ts';
import type { Settings } from '../../src/scheduler/core/index.ts';
import type { BehaviourOptions } from './behaviour.ts';
import type { Vocabulary } from './documents.ts';
import type { NetworkOptions } from './network.ts';
import { Random } from './random.ts';

export interface FaultRates {
  /** Mean time between two of each, in virtual ms; null: never. */
  readonly crashCoordinatorMs: number | null;
  readonly pauseCoordinatorMs: number | null;
  readonly stopCoordinatorMs: number | null;
  readonly crashWorkerMs: number | null;
  readonly pauseWorkerMs: number | null;
  readonly drainWorkerMs: number | null;
  readonly partitionMs: number | null;
  readonly storeOutageMs: number | null;
  readonly slowStoreMs: number | null;
  /** The store is replaced by an earlier state of itself. */
  readonly rewindMs: number | null;
}

export interface SimulationOptions {
  readonly seed: number;
  readonly settings: Settings;
  readonly coordinators: number;
  readonly workers: number;
  readonly slotsMax: number;
  /** A second worker, with the name of the first. */
  readonly hasTwin: boolean;
  readonly clients: number;
  readonly callsPerClient: number;
  readonly pauseMs: number;
  readonly schedules: boolean;
  readonly operatesNodes: boolean;
  readonly safetyMs: number;
  readonly words: Omit<Vocabulary, 'nodes'>;
  readonly handlers: BehaviourOptions;
  readonly network: NetworkOptions;
  readonly storeLossRate: number;
  readonly storeRefuseRate: number;
  readonly backlogMax: number;
  /** A batch of so many bytes is written while others still are. */
  readonly worthBytes: number;
  readonly storeUsualMs: number;
  readonly storeWorstMs: number;
  readonly faults: FaultRates;
}

export function drawOptions(seed: number): SimulationOptions {
  const drawn = drawUsual(seed);
  const random = new Random(seed).fork('poison');
  return random.chance(0.1) ? poisoned(drawn, random) : drawn;
}

/** Where nothing else ends workers, nothing but the poison may be called dead for it. */
function poisoned(drawn: SimulationOptions, random: Random): SimulationOptions {
  return {
    ...drawn,
    hasTwin: false,
    settings: checkedSettings({ ...drawn.settings, maxLosses: random.whole(1, 6) }),
    handlers: {
      ...drawn.handlers,
      poisonRate: random.between(0.005, 0.05),
      stubbornRate: 0,
      blockRate: 0,
    },
    network: { ...drawn.network, lossRate: 0, worstMs: 50 },
    faults: {
      ...NO_FAULTS,
      crashCoordinatorMs: drawn.faults.crashCoordinatorMs,
      stopCoordinatorMs: drawn.faults.stopCoordinatorMs,
    },
  };
}

export const NO_FAULTS: FaultRates = {
  crashCoordinatorMs: null,
  pauseCoordinatorMs: null,
  stopCoordinatorMs: null,
  crashWorkerMs: null,
  pauseWorkerMs: null,
  drainWorkerMs: null,
  partitionMs: null,
  storeOutageMs: null,
  slowStoreMs: null,
  rewindMs: null,
};

function drawUsual(seed: number): SimulationOptions {
  const random = new Random(seed).fork('options');
  const settings = drawSettings(random);
  const jobs = random.whole(5, 60);
  const clients = random.whole(1, 3);
  const safetyMs = random.whole(40_000, 120_000);
  const callsPerClient = Math.ceil(jobs / clients / 0.55);
  return {
    seed,
    settings,
    coordinators: random.whole(1, 3),
    workers: random.whole(1, 6),
    slotsMax: random.whole(1, 6),
    hasTwin: new Random(seed).fork('twin').chance(0.15),
    clients,
    callsPerClient,
    pauseMs: safetyMs / callsPerClient,
    schedules: random.chance(0.5),
    operatesNodes: random.chance(0.4),
    safetyMs,
    words: drawWords(random),
    handlers: drawHandlers(random),
    network: drawNetwork(random),
    storeLossRate: some(random, 0.4, 0.002, 0.03),
    storeRefuseRate: some(random, 0.2, 0.002, 0.05),
    backlogMax: random.chance(0.2) ? random.whole(3, 30) : 10_000,
    worthBytes: new Random(seed).fork('pipeline').pick([1, 1, 1_000, 10_000]),
    storeUsualMs: random.between(0.5, 20),
    storeWorstMs: random.chance(0.3) ? random.between(100, settings.leaderTtlMs * 1.5) : 50,
    faults: { ...drawFaults(random), rewindMs: drawRewinds(new Random(seed).fork('rewinds')) },
  };
}

function drawSettings(random: Random): Settings {
  const leaderRenewMs = random.whole(500, 2_000);
  const leaderTtlMs = leaderRenewMs * random.whole(3, 5);
  const heartbeatMs = random.whole(500, 2_000);
  const atLeastMs = Math.max(heartbeatMs * 3, leaderTtlMs + leaderRenewMs + heartbeatMs);
  const sessionTtlMs = Math.ceil(atLeastMs * random.between(1, 2));
  return checkedSettings({
    leaderRenewMs,
    leaderTtlMs,
    heartbeatMs,
    sessionTtlMs,
    nodeDeadMs: sessionTtlMs + random.whole(0, 20_000),
    nodeForgetMs: random.whole(5_000, 60_000),
    quarantineFailures: random.whole(2, 4),
    quarantineWindowMs: 30_000,
    quarantineMs: random.whole(5_000, 30_000),
    maxLosses: 20,
    ...drawAdmission(random.fork('admission')),
    ...drawStragglers(random.fork('stragglers')),
  });
}

/** With dice of its own, as all that came later: so the seeds of old are what they were. */
function drawAdmission(
  random: Random,
): Pick<Settings, 'maxQueries' | 'queryMemoryBytes' | 'resultTtlMs'> {
  return {
    maxQueries: random.whole(1, 8),
    queryMemoryBytes: random.chance(0.5) ? random.whole(20, 200) : 0,
    resultTtlMs: random.whole(1_000, 60_000),
  };
}

/** Fragments take anything between a moment and seconds, so many of them are stragglers to so strict an eye. */
function drawStragglers(
  random: Random,
): Pick<Settings, 'stragglerFactor' | 'stragglerMinMs' | 'stragglersPerQuery'> {
  return {
    stragglerFactor: random.chance(0.8) ? random.whole(1, 3) : 0,
    stragglerMinMs: random.whole(50, 1_500),
    stragglersPerQuery: random.whole(1, 8),
  };
}

function drawWords(random: Random): SimulationOptions['words'] {
  return {
    tasksMax: random.whole(2, 14),
    edgeRate: random.between(0.1, 1),
    optionRate: some(random, 0.7, 0.05, 0.4),
    keyRate: some(random, 0.5, 0.05, 0.4),
    timeoutRate: some(random, 0.5, 0.05, 0.4),
    waitRate: some(random, 0.6, 0.1, 0.6),
    whenRate: some(random, 0.4, 0.05, 0.5),
    queryRate: some(random.fork('queries'), 0.6, 0.1, 1),
    batchRate: some(random.fork('batches'), 0.3, 0.1, 0.7),
  };
}

function drawHandlers(random: Random): BehaviourOptions {
  return {
    usualMs: random.between(20, 2_000),
    worstMs: random.between(2_000, 20_000),
    failRate: some(random, 0.6, 0.02, 0.3),
    fatalRate: some(random, 0.4, 0.01, 0.1),
    missingRate: some(random, 0.2, 0.01, 0.05),
    sleepRate: some(random, 0.4, 0.02, 0.2),
    stubbornRate: some(random, 0.4, 0.1, 0.6),
    badResultRate: some(random, 0.2, 0.01, 0.1),
    childKeyRate: some(random, 0.4, 0.1, 0.5),
    callQueryRate: some(random.fork('called queries'), 0.6, 0.1, 0.5),
    wronglyLostRate: some(random.fork('wrongly lost'), 0.3, 0.005, 0.05),
    poisonRate: 0,
    blockRate: some(random.fork('blocked'), 0.3, 0.005, 0.05),
  };
}

function drawNetwork(random: Random): NetworkOptions {
  return {
    lossRate: some(random, 0.5, 0.001, 0.08),
    duplicateRate: some(random, 0.5, 0.005, 0.1),
    usualMs: random.between(0.5, 30),
    worstMs: random.chance(0.5) ? random.between(50, 5_000) : 50,
  };
}

function drawFaults(random: Random): Omit<FaultRates, 'rewindMs'> {
  const everyMs = (fromMs: number, toMs: number): number | null =>
    random.chance(0.45) ? random.between(fromMs, toMs) : null;
  return {
    crashCoordinatorMs: everyMs(8_000, 60_000),
    pauseCoordinatorMs: everyMs(8_000, 60_000),
    stopCoordinatorMs: everyMs(10_000, 80_000),
    crashWorkerMs: everyMs(4_000, 60_000),
    pauseWorkerMs: everyMs(4_000, 60_000),
    drainWorkerMs: everyMs(10_000, 80_000),
    partitionMs: everyMs(8_000, 60_000),
    storeOutageMs: everyMs(10_000, 80_000),
    slowStoreMs: everyMs(10_000, 80_000),
  };
}

function drawRewinds(random: Random): number | null {
  return random.chance(0.2) ? random.between(8_000, 60_000) : null;
}

/** A rate between the two, or none at all. */
function some(random: Random, chance: number, from: number, to: number): number {
  const rate = random.between(from, to);
  return random.chance(chance) ? rate : 0;
}
