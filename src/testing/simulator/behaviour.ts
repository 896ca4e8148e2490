/** What a simulated handler does with a task: drawn from the seed, the task and the fence alone. */
import { parseTaskDocuments } from '../../core/index.ts';
import type { FailureClass, Settings, SuspendUntil } from '../../core/index.ts';
import type { ReadyAssignment } from '../../protocol/index.ts';
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
}

export type Ending =
  | { readonly kind: 'completed'; readonly result: string | null }
  | { readonly kind: 'failed'; readonly failure: FailureClass }
  | { readonly kind: 'suspended'; readonly until: SuspendUntil };

export interface Behaviour {
  readonly durationMs: number;
  /** How long it goes on after it was told to stop. */
  readonly graceMs: number;
  readonly steps: readonly string[];
  readonly showsProgress: boolean;
  readonly ending: Ending;
}

export function behave(
  random: Random,
  options: BehaviourOptions,
  assignment: ReadyAssignment,
  settings: Settings,
): Behaviour {
  const { lease, taskId, resumed, executor } = assignment;
  const dice = random.fork(`${lease.jobNo}/${lease.taskNo}/${lease.fence}`);
  const probe = executor === 'probe';
  return {
    durationMs: probe ? 2_000 : dice.delayMs(options.usualMs, options.worstMs),
    graceMs: dice.chance(options.stubbornRate) ? dice.between(100, 3_000) : 0,
    steps: dice.chance(0.2) ? ['first', 'second'].slice(0, dice.whole(1, 2)) : [],
    showsProgress: dice.chance(0.2),
    ending: probe
      ? { kind: 'completed', result: null }
      : ending(dice, options, { taskId, fence: lease.fence, resumed, executor }, settings),
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
  settings: Settings,
): Ending {
  if (dice.chance(options.missingRate)) return { kind: 'failed', failure: 'missing' };
  if (dice.chance(options.failRate)) return { kind: 'failed', failure: 'retryable' };
  if (dice.chance(options.fatalRate)) return { kind: 'failed', failure: 'fatal' };
  if (executor === 'fan' && !resumed) {
    const children = Array.from({ length: dice.whole(1, 4) }, (_, at) => ({
      id: `${taskId}.c${at}`,
      executor: 'leaf',
      ...(dice.chance(options.childKeyRate) ? { idempotencyKey: `key${dice.whole(1, 4)}` } : {}),
    }));
    const tasks = parseTaskDocuments(children, settings, new Map());
    return { kind: 'suspended', until: { type: 'children', tasks } };
  }
  if (!resumed && dice.chance(options.sleepRate)) {
    return { kind: 'suspended', until: { type: 'time', forMs: dice.whole(100, 8_000) } };
  }
  if (dice.chance(options.badResultRate)) return { kind: 'completed', result: '{ not JSON' };
  const result = dice.chance(0.2) ? null : JSON.stringify({ task: taskId, fence });
  return { kind: 'completed', result };
}
