/** The executors of a simulated worker: handlers as users write them, on the clock of their process. */
import type { Json } from '../../src/scheduler/core/index.ts';
import { deferred } from '../../src/kit/index.ts';
import { FatalError } from '../../src/tasks/executors/index.ts';
import type { Executor, Mappable, TaskContext } from '../../src/tasks/executors/index.ts';
import { drawBehaviour } from './behaviour.ts';
import type { Behaviour, BehaviourOptions, Failure } from './behaviour.ts';
import type { Findings } from './findings.ts';
import { runFragment } from './fragment.ts';
import type { FragmentPlace } from './fragment.ts';
import type { Life } from './process.ts';
import type { Random } from './random.ts';
import { drawPlan, goThrough } from './waiting.ts';
import type { Running, Witness } from './witness.ts';

export interface HandlerOptions {
  readonly life: Life;
  /** The same dice for all workers. */
  readonly dice: Random;
  readonly behaviour: () => BehaviourOptions;
  readonly place: FragmentPlace;
  readonly witness: Witness;
  readonly findings: Findings;
  /** How the witness knows the attempt. */
  readonly running: (context: TaskContext) => Running;
  /** The handler ends its process. */
  readonly onKilled: () => void;
}

export function executorOf(name: string, options: HandlerOptions): Executor {
  return {
    name,
    ...(name === 'part' ? { quietMs: 250, isBulk: true, discard: discardIn(options.place) } : {}),
    run: (input, context) => new Handler(name, context, options).run(input),
  };
}

function discardIn({ own }: FragmentPlace): NonNullable<Executor['discard']> {
  return ({ jobId, taskId, fence }) => own.discard({ query: jobId, task: taskId, fence });
}

/** One attempt. */
class Handler {
  readonly #executor: string;
  readonly #context: TaskContext;
  readonly #options: HandlerOptions;
  readonly #behaviour: Behaviour;
  readonly #running: Running;

  constructor(executor: string, context: TaskContext, options: HandlerOptions) {
    const { jobId, taskId, fence, run } = context;
    this.#executor = executor;
    this.#context = context;
    this.#options = options;
    const attempted = { jobId, taskId, fence, run, executor };
    this.#behaviour = drawBehaviour(options.dice, options.behaviour(), attempted);
    this.#running = options.running(context);
  }

  async run(input: Json): Promise<unknown> {
    const { witness } = this.#options;
    witness.starts(this.#running);
    try {
      return await this.#work(input);
    } finally {
      witness.ends(this.#running);
    }
  }

  async #work(input: Json): Promise<unknown> {
    const { context, steps, durationMs, kills, showsProgress, failure } = {
      context: this.#context,
      ...this.#behaviour,
    };
    if (kills) return this.#kill(durationMs % 40);
    this.#block();
    for (const name of steps) {
      await context.step(name, async () => {
        await this.#spend(durationMs / (steps.length + 1));
        return { name, fence: context.fence };
      });
    }
    if (showsProgress) context.progress(0.5);
    await this.#spend(durationMs / (steps.length + 1));
    if (failure !== null) throw errorOf(failure);
    await this.#wait();
    return this.#result(input);
  }

  /** What takes no slot: the handler is suspended, or continues at once with what is recorded. */
  async #wait(): Promise<void> {
    const { witness, dice, behaviour, findings } = this.#options;
    const { napMs } = this.#behaviour;
    witness.ends(this.#running);
    if (this.#executor === 'fan') await this.#fanOut();
    else if (this.#executor === 'waiter') {
      const plan = drawPlan(dice, this.#context, behaviour().callQueryRate);
      const fault = await goThrough(plan, this.#context);
      const { jobId, taskId } = this.#context;
      if (fault !== null) findings.add('steps', `${jobId}/${taskId}: ${fault}`);
    } else if (napMs !== null) await this.#context.sleep('nap', napMs);
    witness.starts(this.#running);
  }

  async #fanOut(): Promise<void> {
    const { jobId, taskId, run } = this.#context;
    const { childKeyRate } = this.#options.behaviour();
    const dice = this.#options.dice.fork(`fan ${jobId}/${taskId}/${run}`);
    const items = Array.from({ length: dice.whole(1, 4) }, () =>
      dice.chance(childKeyRate) ? { idempotencyKey: `key${dice.whole(1, 4)}` } : {},
    );
    const leaf: Mappable<object, Json> = {
      name: 'leaf',
      toTask: (item) => ({ executor: 'leaf', ...item }),
      readResult: (result) => result,
    };
    // However the children have ended.
    await this.#context.map('c', leaf, items).catch((error: unknown) => {
      if (!(error instanceof Error) || error.name !== 'ChildrenError') throw error;
    });
  }

  #result(input: Json): unknown {
    const { dice, place, behaviour } = this.#options;
    const { jobId, taskId, fence } = this.#context;
    // Nothing that JSON knows.
    if (this.#behaviour.hasBadResult) return 1n;
    if (this.#executor === 'part') {
      const own = dice.fork(`part ${jobId}/${taskId}/${fence}`);
      return runFragment(input, this.#context, place, own, behaviour().wronglyLostRate);
    }
    if (this.#executor === 'gather') return { items: input };
    return this.#behaviour.hasResult ? { job: jobId, task: taskId, fence } : null;
  }

  /** Time passes; a stop is heeded at once, or after a while. */
  async #spend(ms: number): Promise<void> {
    const { clock } = this.#options.life;
    const { signal } = this.#context;
    const over = deferred();
    const cancel = clock.after(ms, over.resolve);
    const stop = (): void => {
      clock.after(this.#behaviour.graceMs, () => over.reject(signal.reason as Error));
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    try {
      await over.promise;
    } finally {
      cancel();
      signal.removeEventListener('abort', stop);
    }
    this.#options.witness.acts(this.#running);
  }

  /** As a computation does that never awaits: the handler itself stands still with its thread. */
  #block(): void {
    const { life } = this.#options;
    const { blockMs } = this.#behaviour;
    if (blockMs === 0) return;
    life.block();
    life.thread().clock.after(blockMs, () => life.unblock());
  }

  async #kill(ms: number): Promise<never> {
    const { witness, onKilled } = this.#options;
    const { jobId, taskId } = this.#context;
    witness.poisons.add(`${jobId}/${taskId}`);
    await this.#spend(ms);
    onKilled();
    return new Promise(() => {});
  }
}

function errorOf(failure: Failure): Error {
  const message = 'as the dice would have it';
  if (failure === 'fatal') return new FatalError(message);
  return failure === 'missing'
    ? Object.assign(new Error(message), { code: 'missing_executor', failure })
    : new Error(message);
}
