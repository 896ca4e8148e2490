/** What a simulated handler does with a task: drawn from the seed, the task and the fence alone. */
import type { Random } from './random.ts';

export interface BehaviourOptions {
  readonly usualMs: number;
  readonly worstMs: number;
  readonly failRate: number;
  readonly fatalRate: number;
  readonly missingRate: number;
  readonly sleepRate: number;
  readonly stubbornRate: number;
  readonly badResultRate: number;
  readonly childKeyRate: number;
  /** How often a reader says that it did not find what is there. */
  readonly wronglyLostRate: number;
  /** How many of the called jobs are queries. */
  readonly callQueryRate: number;
  /** How many tasks end the process that runs them, every time. */
  readonly poisonRate: number;
  /** How many attempts keep their thread busy, so that nothing else runs on it. */
  readonly blockRate: number;
}

export type Failure = 'missing' | 'retryable' | 'fatal';

/** How one attempt goes. */
export interface Behaviour {
  readonly durationMs: number;
  /** How long it goes on after it was asked to stop. */
  readonly graceMs: number;
  readonly steps: readonly string[];
  readonly showsProgress: boolean;
  /** It ends its process soon after it has begun. */
  readonly kills: boolean;
  /** It blocks its thread for this long. */
  readonly blockMs: number;
  readonly failure: Failure | null;
  /** How long it sleeps, without a slot, before it ends. */
  readonly napMs: number | null;
  readonly hasBadResult: boolean;
  readonly hasResult: boolean;
}

export interface Attempted {
  readonly jobId: string;
  readonly taskId: string;
  readonly fence: number;
  readonly run: number;
  readonly executor: string;
}

const PROBE: Behaviour = {
  durationMs: 2_000,
  graceMs: 0,
  steps: [],
  showsProgress: false,
  kills: false,
  blockMs: 0,
  failure: null,
  napMs: null,
  hasBadResult: false,
  hasResult: false,
};

export function drawBehaviour(
  random: Random,
  options: BehaviourOptions,
  { jobId, taskId, fence, run, executor }: Attempted,
): Behaviour {
  if (executor === 'probe') return PROBE;
  const dice = random.fork(`${jobId}/${taskId}/${fence}`);
  // The same in every attempt of a run: a handler asks for the same waits each time.
  const lasting = random.fork(`${jobId}/${taskId}/run ${run}`);
  const napMs = lasting.whole(100, 8_000);
  return {
    durationMs: dice.delayMs(options.usualMs, options.worstMs),
    graceMs: dice.chance(options.stubbornRate) ? dice.between(100, 3_000) : 0,
    steps: dice.chance(0.2) ? ['first', 'second'].slice(0, dice.whole(1, 2)) : [],
    showsProgress: dice.chance(0.2),
    kills: random.fork(`poison ${jobId}/${taskId}`).chance(options.poisonRate),
    blockMs: dice.chance(options.blockRate) ? dice.between(100, 6_000) : 0,
    failure: drawFailure(dice, options),
    napMs: lasting.chance(options.sleepRate) ? napMs : null,
    hasBadResult: dice.chance(options.badResultRate),
    hasResult: !dice.chance(0.2),
  };
}

function drawFailure(dice: Random, options: BehaviourOptions): Failure | null {
  if (dice.chance(options.missingRate)) return 'missing';
  if (dice.chance(options.failRate)) return 'retryable';
  return dice.chance(options.fatalRate) ? 'fatal' : null;
}
