/** Modules that users bring: files that export tasks, flows and operators. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { ExecutorRegistry } from '../registry.ts';
import { definitionsIn } from './definitions.ts';
import type { Definitions } from './definitions.ts';
import { importedFrom } from './import.ts';

/** What the file exports. It may be JavaScript or TypeScript. */
export async function loadDefinitions(file: string): Promise<Definitions> {
  const path = resolve(file);
  const found = await stat(path).catch(() => null);
  if (found === null || !found.isFile()) throw bad(`File ${file} does not exist.`);
  return definitionsIn(await importedFrom(pathToFileURL(path).href), file);
}

/** As `loadDefinitions`, for a module that was loaded before in another process. */
export async function loadDefinitionsFrom(url: string): Promise<Definitions> {
  return definitionsIn(await importedFrom(url), fileURLToPath(url));
}

/** Registers everything that the file exports. Answers the names. */
export async function loadModule(
  file: string,
  registry: ExecutorRegistry,
): Promise<readonly string[]> {
  const { tasks, exported, flows, operators } = await loadDefinitions(file);
  if (tasks.length + flows.length + operators.length === 0) {
    throw bad(
      `The module ${file} exports no task, flow or operator.`,
      'Export what defineTask or defineOperator returns: by name, as the default, or in a list.',
    );
  }
  for (const task of tasks) registry.add(task, `the module ${file}`);
  for (const flow of flows) registry.addFlow(flow, `the module ${file}`);
  for (const task of exported) registry.publish(task);
  const module = pathToFileURL(resolve(file)).href;
  for (const operator of operators) registry.addOperator(operator, `the module ${file}`, module);
  return [...tasks, ...operators].map(({ name }) => name);
}

function bad(what: string, todo?: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what, todo });
}
