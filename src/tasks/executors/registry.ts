/** What a worker can run, by name. */
import {
  FLOWS_BYTES_MAX,
  FLOW_PREFIX,
  MillraceError,
  NAMES_MAX,
  NAME_TODO,
  OPERATOR_NAME,
  didYouMean,
  flowExecutor,
  isFlowExecutor,
  isId,
  isOperatorExecutor,
  operatorExecutor,
} from '../../scheduler/core/index.ts';
import type { FlowDeclaration } from '../../scheduler/core/index.ts';
import type { Executor, FlowDefinition, TaskDefinition } from './executor.ts';
import { flowStarter } from './flow-starter.ts';
import type { CustomDefinition } from './operators/operator.ts';
import { ThreadPool } from './threads/pool.ts';
import type { ThreadSettings } from './threads/pool.ts';

interface Registered {
  /** As it was given. */
  readonly original: Executor;
  /** As it runs: perhaps on a thread of its own. */
  readonly executor: Executor;
  readonly from: string;
}

export interface RegisteredOperator {
  readonly definition: CustomDefinition;
  /** The module that exports it, as a URL; null if the program itself has defined it. */
  readonly module: string | null;
  readonly from: string;
}

interface RegisteredFlow {
  readonly flow: FlowDefinition;
  readonly from: string;
  readonly declaration: FlowDeclaration;
  readonly executor: Executor;
}

/** The executors of one worker, and its operators and functions for queries. */
export class ExecutorRegistry {
  readonly #byName: Map<string, Registered> = new Map();
  readonly #operators: Map<string, RegisteredOperator> = new Map();
  readonly #flows: Map<string, RegisteredFlow> = new Map();
  /** Tasks that can be started by their names. */
  readonly #tasks: Map<string, FlowDeclaration> = new Map();
  /** Of the declarations of all flows and tasks: they are sent together. */
  #flowChars = 0;
  readonly #threads: ThreadPool;

  constructor(threads: Partial<ThreadSettings> = {}) {
    this.#threads = new ThreadPool(threads);
  }

  /** `from` says where it comes from, for the message when two want the same name. */
  add(executor: Executor, from: string): void {
    const { name } = executor;
    if (!isId(name) || isOperatorExecutor(name) || isFlowExecutor(name)) {
      throw new MillraceError({
        code: 'bad_input',
        what: `${from} defines a task with the invalid name ${JSON.stringify(name)}.`,
        todo: 'Use up to 200 letters, digits and _ . : @ + = -',
      });
    }
    const known = this.#byName.get(name);
    if (known?.original === executor) return;
    if (known !== undefined) {
      throw new MillraceError({
        code: 'bad_input',
        what: `${from} defines the task ${name}, and so does ${known.from}.`,
        todo: 'Give one of them another name.',
      });
    }
    this.#byName.set(name, {
      original: executor,
      executor: this.#onItsThread(executor, from),
      from,
    });
  }

  /** A flow that can be started by its name. One that cannot be published is left out. `around` wraps its executor. */
  addFlow(
    flow: FlowDefinition,
    from: string,
    around: (executor: Executor) => Executor = (executor) => executor,
  ): void {
    const { name } = flow;
    const known = this.#flows.get(name);
    if (known?.flow === flow) return;
    if (known !== undefined) {
      throw new MillraceError({
        code: 'bad_input',
        what: `${from} defines the flow ${name}, and so does ${known.from}.`,
        todo: 'Give one of them another name.',
      });
    }
    const starter = flowStarter(flow);
    if (starter === null || this.#flowChars + starter.chars > FLOWS_BYTES_MAX / 2) return;
    this.#flowChars += starter.chars;
    const { declaration, executor } = starter;
    this.#flows.set(name, { flow, from, declaration, executor: around(executor) });
  }

  /** The task can be started by its name. If a flow has the same name, that one is meant. */
  publish(task: TaskDefinition): void {
    const declaration = task.declaration?.();
    if (declaration === undefined || this.#tasks.has(task.name)) return;
    const chars = JSON.stringify(declaration).length;
    if (!isId(flowExecutor(task.name)) || this.#flowChars + chars > FLOWS_BYTES_MAX / 2) return;
    this.#flowChars += chars;
    this.#tasks.set(task.name, declaration);
  }

  /** What a worker publishes: its flows and its tasks, as many as a registration may have. */
  get flows(): readonly FlowDeclaration[] {
    const flows = [...this.#flows.values()].map(({ declaration }) => declaration);
    const tasks = [...this.#tasks.values()].filter(({ name }) => !this.#flows.has(name));
    return [...flows, ...tasks].slice(0, NAMES_MAX);
  }

  /** `module` is the URL of the module that exports it; null if the program itself has defined it. */
  addOperator(definition: CustomDefinition, from: string, module: string | null): void {
    const { name } = definition;
    if (!OPERATOR_NAME.test(name)) {
      throw new MillraceError({
        code: 'bad_input',
        what: `${from} defines an operator with the invalid name ${JSON.stringify(name)}.`,
        todo: NAME_TODO,
      });
    }
    const known = this.#operators.get(name);
    if (known?.definition === definition) return;
    if (known !== undefined) {
      throw new MillraceError({
        code: 'bad_input',
        what: `${from} defines the operator ${name}, and so does ${known.from}.`,
        todo: 'Give one of them another name.',
      });
    }
    this.#operators.set(name, { definition, module, from });
  }

  operator(name: string): RegisteredOperator | undefined {
    return this.#operators.get(name);
  }

  get operators(): readonly RegisteredOperator[] {
    return [...this.#operators.values()];
  }

  get(name: string): Executor | undefined {
    if (isFlowExecutor(name)) return this.#flows.get(name.slice(FLOW_PREFIX.length))?.executor;
    return this.#byName.get(name)?.executor;
  }

  /** As a node advertises them. */
  get names(): readonly string[] {
    const operators = [...this.#operators.keys()].map(operatorExecutor);
    const flows = [...this.#flows.keys()].map(flowExecutor);
    return [...this.#byName.keys(), ...operators, ...flows].toSorted();
  }

  /** Ends the threads. What still runs on one fails. */
  close(): void {
    this.#threads.close();
  }

  /** Before the first poll: a worker that lacks what it was deployed for must not start. */
  expect(names: readonly string[]): void {
    const missing = names.filter((name) => !this.#byName.has(name) && !this.#operators.has(name));
    if (missing.length === 0) return;
    const known = [...this.#byName.keys(), ...this.#operators.keys()].toSorted();
    const hints = missing.map((name) => `${name}${didYouMean(name, known)}`);
    throw new MillraceError({
      code: 'bad_input',
      what: `Expected but not registered on this worker: ${hints.join(', ')}.`,
      todo: `Load them with --module. Registered: ${known.join(', ')}.`,
    });
  }

  #onItsThread(executor: Executor, from: string): Executor {
    const { name } = executor;
    const { thread: module } = executor as Partial<TaskDefinition>;
    if (module === undefined) return executor;
    if (URL.canParse(module) && new URL(module).protocol === 'file:') {
      return this.#threads.executor({ module, name });
    }
    throw new MillraceError({
      code: 'bad_input',
      what: `The thread of task ${name} of ${from} is not a module file.`,
      todo: 'Use thread: import.meta.url in the module that exports the task.',
    });
  }
}
