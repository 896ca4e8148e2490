/** Flows that handlers call. The caller has the flow's code, so the worker that runs it offers the tasks of that flow
 * from then on. Tasks that it cannot run wait for another worker, and the log says so. */
import { definitionsOf } from '../../tasks/executors/index.ts';
import type { Executor, ExecutorRegistry, TaskLog } from '../../tasks/executors/index.ts';

export interface CalledFlowsOptions {
  readonly executors: Pick<ExecutorRegistry, 'get' | 'add'>;
  /** Instead of being added as it is. */
  readonly learn?: ((executor: Executor) => void) | undefined;
  /** Tells the leader of what was added. */
  readonly announce: () => void;
  readonly log: TaskLog;
}

export class CalledFlows {
  readonly #options: CalledFlowsOptions;
  /** Executors that the log has named already. */
  readonly #missed: Set<string> = new Set();

  constructor(options: CalledFlowsOptions) {
    this.#options = options;
  }

  /** `caller`, JOB/TASK, calls or maps over `what`, which needs these executors. */
  called(caller: string, what: unknown, names: readonly string[]): void {
    const { executors, learn, announce, log } = this.#options;
    // A name that is known stays: the caller may hold another copy of its definition.
    const fresh = definitionsOf(what).filter(({ name }) => executors.get(name) === undefined);
    for (const each of fresh) {
      if (learn === undefined) executors.add(each, `what ${caller} has called`);
      else learn(each);
    }
    if (fresh.length > 0) announce();
    for (const name of names) {
      if (executors.get(name) !== undefined || this.#missed.has(name)) continue;
      this.#missed.add(name);
      log.warn(
        `${caller} calls the executor '${name}', which this worker does not have: the call waits ` +
          'until a worker offers it. `millrace explain` shows whether one does.',
      );
    }
  }
}
