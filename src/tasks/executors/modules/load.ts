/** Modules that users bring: files that export tasks, flows and operators. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { Executor } from '../executor.ts';
import type { ExecutorRegistry } from '../registry.ts';
import { definitionsIn } from './definitions.ts';
import type { Definitions, OperatorDefinition } from './definitions.ts';
import { importedFrom } from './import.ts';

/** What the file exports. It may be JavaScript or TypeScript. */
export async function loadDefinitions(file: string): Promise<Definitions> {
  const path = resolve(file);
  const found = await stat(path).catch(() => null);
  if (found === null || !found.isFile()) throw bad(`File ${file} does not exist.`);
  return definitionsIn(await importedFrom(pathToFileURL(path).href), file);
}

/** Registers everything that the file exports. Answers the names. */
export async function loadModule(
  file: string,
  registry: ExecutorRegistry,
): Promise<readonly string[]> {
  const { tasks, flows, operators } = await loadDefinitions(file);
  if (tasks.length + flows.length + operators.length === 0) {
    throw bad(
      `The module ${file} exports no task, flow or operator.`,
      'Export what defineTask returns: by name, as the default, or in a list.',
    );
  }
  const executors = [...tasks, ...operators.map(asExecutor)];
  for (const executor of executors) registry.add(executor, `the module ${file}`);
  return executors.map(({ name }) => name);
}

/** One executor for one operator, however often it is exported. */
const operatorExecutors = new WeakMap<OperatorDefinition, Executor>();

function asExecutor(operator: OperatorDefinition): Executor {
  const { name } = operator;
  const known = operatorExecutors.get(operator);
  if (known !== undefined) return known;
  const executor: Executor = {
    name,
    run() {
      throw bad(`${name} is an operator for queries and cannot run as a task.`);
    },
  };
  operatorExecutors.set(operator, executor);
  return executor;
}

function bad(what: string, todo?: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what, ...(todo === undefined ? {} : { todo }) });
}
