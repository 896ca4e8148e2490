/** What a simulated handler does with a task: drawn from the seed, the task and the fence alone. */
import type { FailureClass, LostOutput } from '../../src/scheduler/core/index.ts';
import type {
  ReadyAssignment,
  StepRecord,
  WorkerSuspension,
} from '../../src/scheduler/contract/index.ts';
import { endPart } from './part.ts';
import type { PartPlace } from './part.ts';
import type { Random } from './random.ts';
import { drawPlan, goOn } from './waiting.ts';

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
}

export type Ending =
  | { readonly kind: 'completed'; readonly result: string | null }
  | { readonly kind: 'failed'; readonly failure: FailureClass }
  | { readonly kind: 'inputLost'; readonly lost: readonly LostOutput[] }
  | { readonly kind: 'suspended'; readonly until: WorkerSuspension };

export interface Behaviour {
  readonly durationMs: number;
  /** How long it goes on after it was told to stop. */
  readonly graceMs: number;
  readonly steps: readonly string[];
  readonly showsProgress: boolean;
  /** It ends its process soon after it has begun. */
  readonly kills: boolean;
  /** How it ends, and what it writes down before; `now` is the database's time as the worker knows it. */
  readonly finish: (now: number) => {
    readonly steps: readonly StepRecord[];
    readonly ending: Ending;
  };
}

export function behave(
  random: Random,
  options: BehaviourOptions,
  assignment: ReadyAssignment,
  place: PartPlace,
): Behaviour {
  const { lease, executor } = assignment;
  const dice = random.fork(`${lease.jobNo}/${lease.taskNo}/${lease.fence}`);
  const probe = executor === 'probe';
  return {
    durationMs: probe ? 2_000 : dice.delayMs(options.usualMs, options.worstMs),
    graceMs: dice.chance(options.stubbornRate) ? dice.between(100, 3_000) : 0,
    steps: dice.chance(0.2) ? ['first', 'second'].slice(0, dice.whole(1, 2)) : [],
    showsProgress: dice.chance(0.2),
    kills:
      !probe && random.fork(`poison ${lease.jobNo}/${lease.taskNo}`).chance(options.poisonRate),
    finish: finisher(random, dice, options, assignment, place),
  };
}

function finisher(
  random: Random,
  dice: Random,
  options: BehaviourOptions,
  assignment: ReadyAssignment,
  place: PartPlace,
): Behaviour['finish'] {
  const { lease, taskId, resumed, executor } = assignment;
  if (executor === 'probe')
    return () => ({ steps: [], ending: { kind: 'completed', result: null } });
  const drawn = ending(dice, options, { taskId, fence: lease.fence, resumed, executor });
  if (
    executor === 'part' &&
    drawn.kind === 'completed' &&
    drawn.result?.startsWith('{ ') !== true
  ) {
    const ends = (): Ending => endPart(assignment, place, dice, options.wronglyLostRate);
    return () => ({ steps: [], ending: ends() });
  }
  if (executor !== 'waiter' || drawn.kind === 'failed') return () => ({ steps: [], ending: drawn });
  const plan = drawPlan(random, assignment, options.callQueryRate);
  return (now) => {
    const { steps, until } = goOn(plan, assignment, now);
    return { steps, ending: until === null ? drawn : { kind: 'suspended', until } };
  };
}

interface About {
  readonly taskId: string;
  readonly fence: number;
  readonly resumed: boolean;
  readonly executor: string;
}

function ending(
  dice: Random,
  options: BehaviourOptions,
  { taskId, fence, resumed, executor }: About,
): Ending {
  if (dice.chance(options.missingRate)) return { kind: 'failed', failure: 'missing' };
  if (dice.chance(options.failRate)) return { kind: 'failed', failure: 'retryable' };
  if (dice.chance(options.fatalRate)) return { kind: 'failed', failure: 'fatal' };
  if (executor === 'fan' && !resumed) {
    const tasks = Array.from({ length: dice.whole(1, 4) }, (_, at) => ({
      id: `${taskId}.c${at}`,
      executor: 'leaf',
      ...(dice.chance(options.childKeyRate) ? { idempotencyKey: `key${dice.whole(1, 4)}` } : {}),
    }));
    return { kind: 'suspended', until: { type: 'children', tasks } };
  }
  if (executor !== 'waiter' && !resumed && dice.chance(options.sleepRate)) {
    const sleeps = [{ step: '$sleep/nap', forMs: dice.whole(100, 8_000) }];
    return { kind: 'suspended', until: { type: 'wait', sleeps, signals: [], jobs: [] } };
  }
  if (dice.chance(options.badResultRate)) return { kind: 'completed', result: '{ not JSON' };
  const result = dice.chance(0.2) ? null : JSON.stringify({ task: taskId, fence });
  return { kind: 'completed', result };
}
