/** What a worker inside a program can run: built-in executors, modules, and definitions of the program. */
import type { NodeSettings } from '../node/config/index.ts';
import type {
  ExecutorRegistry,
  FlowDefinition,
  FunctionDefinition,
  OperatorDefinition,
  TaskDefinition,
} from '../tasks/executors/index.ts';
import { definitionsOf } from '../tasks/executors/index.ts';
import { registryOf } from '../node/worker/index.ts';
import type { OpenWorker } from '../node/worker/index.ts';

export interface Offered {
  readonly tasks?: readonly TaskDefinition[];
  readonly flows?: readonly FlowDefinition[];
  /** For SQL queries. They run in the thread of the caller; those of modules run in processes of their own. */
  readonly operators?: readonly OperatorDefinition[];
  readonly functions?: readonly FunctionDefinition[];
  /** Files whose exports are tasks, flows, operators and functions. */
  readonly modules?: readonly string[];
}

export async function ownRegistry(
  node: NodeSettings,
  { tasks = [], flows = [], modules = [], operators = [], functions = [] }: Offered,
): Promise<ExecutorRegistry> {
  const registry = await registryOf({ ...node, modules });
  const definitions = [...tasks, ...flows].flatMap((each) => definitionsOf(each));
  // A task that several flows use, or that is in a module as well, is one task.
  for (const definition of definitions) registry.add(definition, 'this program');
  for (const flow of flows) registry.addFlow(flow, 'this program');
  for (const task of tasks) registry.publish(task);
  for (const each of [...operators, ...functions]) registry.addOperator(each, 'this program', null);
  return registry;
}

/** Threads of tasks end with the worker. */
export function withRegistry(opened: OpenWorker, registry: ExecutorRegistry): OpenWorker {
  const close = async (): Promise<void> => {
    await opened.close();
    registry.close();
  };
  return { ...opened, close };
}
