/**
 * Random queries: what a planner makes of a number. Stages of fragments that leave what they make with the process
 * that ran them, and read what the stage before has left.
 */
import {
  MillraceError,
  checkedSettings,
  parseJobDocument,
  taskNo,
} from '../../src/scheduler/core/index.ts';
import type { TaskOptions } from '../../src/scheduler/core/index.ts';
import type { PlannedQuery, QueryPlanner } from '../../src/scheduler/coordinator/index.ts';
import { deferred } from '../../src/kit/index.ts';
import { withOwnOptions } from '../rig/harness/raw-tasks.ts';
import type { Draft, DraftTask } from './documents.ts';
import type { OutputKind } from './outputs.ts';
import type { Life } from './process.ts';
import { Random } from './random.ts';

/** What a client asks for. The number decides about all the rest. */
export interface QueryRequest {
  readonly number: number;
  readonly idempotencyKey?: string;
}

/** One in so many cannot be planned. */
const BAD_EVERY = 12;

function isBadQuery(number: number): boolean {
  return number % BAD_EVERY === 0;
}

/** What a fragment is given to know beside what it reads. */
export interface FragmentInput {
  readonly isNonDeterministic: boolean;
  readonly kind: OutputKind;
  /** By task: its result. */
  readonly from: Readonly<Record<string, FragmentResult | null>>;
}

/** What a fragment has made, in which process it lies, and what it has read for that. */
export interface FragmentResult {
  readonly content: string;
  readonly fence: number;
  readonly process: string;
  readonly reads: Readonly<Record<string, { readonly fence: number; readonly content: string }>>;
}

interface DraftFragment extends DraftTask {
  readonly isNonDeterministic: boolean;
}

/** The document as the client expects it: `plan`, and then the parts stage by stage. */
export function draftQuery(number: number): Draft & { readonly tasks: readonly DraftFragment[] } {
  const dice = new Random(number).fork('query');
  const stages = dice.whole(2, 5);
  const tasks: DraftFragment[] = [
    { id: 'plan', executor: 'plan', dependsOn: [], isNonDeterministic: false },
  ];
  let before: string[] = [];
  for (let stage = 0; stage < stages; stage += 1) {
    const own: string[] = [];
    const isNonDeterministic = dice.chance(0.4);
    for (let at = dice.whole(1, 4); at > 0; at -= 1) {
      const id = `s${stage}.${own.length}`;
      // All of the stage before, or the part at the same place; now and then one from further up.
      const reads = dice.chance(0.8) ? before : before.slice(0, 1);
      const far = tasks.slice(1).filter((each) => !before.includes(each.id) && dice.chance(0.1));
      const kind = stage === stages - 1 ? 'result' : 'inner';
      tasks.push(
        part(dice, id, { isNonDeterministic, kind }, [...reads, ...far.map((each) => each.id)]),
      );
      own.push(id);
    }
    before = own;
  }
  return { name: `query ${number}`, onFailure: 'cancel', priority: dice.whole(0, 3), tasks };
}

function part(
  dice: Random,
  id: string,
  { isNonDeterministic, kind }: Pick<FragmentInput, 'isNonDeterministic' | 'kind'>,
  reads: readonly string[],
): DraftFragment {
  const from = Object.fromEntries(reads.map((each) => [each, { $from: each }]));
  return {
    id,
    executor: 'part',
    isNonDeterministic,
    dependsOn: ['plan', ...reads],
    input: { isNonDeterministic: { $from: 'plan', path: `/${id}` }, kind, from },
    retry: {
      maxAttempts: dice.whole(2, 4),
      backoffMs: dice.whole(20, 500),
      maxBackoffMs: 3_000,
      maxLosses: dice.whole(2, 20),
    },
    ...(dice.chance(0.1) ? { timeouts: { runMs: dice.whole(500, 20_000) } } : {}),
  };
}

const settings = checkedSettings();

function plannedQuery(number: number): PlannedQuery {
  const { tasks, ...rest } = draftQuery(number);
  const raw = {
    ...rest,
    tasks: tasks.map(({ isNonDeterministic: _isNonDeterministic, ...task }) => task),
  };
  const own: Record<string, Pick<TaskOptions, 'output' | 'admission'>> = {
    plan: { admission: { memoryBytes: (number % 7) * 10 } },
  };
  for (const { id, executor, isNonDeterministic } of tasks) {
    if (executor === 'part')
      own[id] = { output: isNonDeterministic ? 'non-deterministic' : 'deterministic' };
  }
  const plan = Object.fromEntries(
    tasks.map(({ id, isNonDeterministic }) => [id, isNonDeterministic]),
  );
  const seed = { state: 'succeeded', result: JSON.stringify(plan) } as const;
  const document = withOwnOptions(parseJobDocument(raw, settings), own);
  return { document, seeds: new Map([[taskNo(0), seed]]) };
}

/** Plans in its own time, and not everything. */
export function simulatedPlanner(life: Life, random: Random): QueryPlanner {
  return {
    plan: async (request) => {
      const { number } = request as QueryRequest;
      const done = deferred();
      life.clock.after(random.delayMs(50, 3_000), done.resolve);
      await done.promise;
      if (isBadQuery(number)) {
        throw new MillraceError({ code: 'bad_query', what: `Nobody understands ${number}.` });
      }
      return plannedQuery(number);
    },
  };
}
