/** Modules that users bring: files whose exports are task definitions. */
import { stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MillraceError } from '../core/index.ts';
import type { TaskDefinition } from './executor.ts';
import type { ExecutorRegistry } from './registry.ts';

/**
 * Registers every task definition that the file exports: by name, as the default, or in a list of them.
 * Answers the names. Other exports are the module's own business.
 */
export async function loadModule(
  file: string,
  registry: ExecutorRegistry,
): Promise<readonly string[]> {
  const path = resolve(file);
  const found = await stat(path).catch(() => null);
  if (found === null || !found.isFile()) throw bad(`There is no file ${file}.`);
  const definitions = definitionsIn(await imported(path, file), file);
  if (definitions.size === 0) {
    throw bad(
      `The module ${file} exports no task.`,
      'Export what defineTask returns: by name, as the default, or in a list.',
    );
  }
  for (const definition of definitions) registry.add(definition, `the module ${file}`);
  return [...definitions].map(({ name }) => name);
}

async function imported(path: string, file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    if (isUnknownExtension(cause) && /^\.[cm]?tsx?$/.test(extname(path))) {
      throw bad(
        `This Node.js (${process.version}) cannot run TypeScript, and ${file} is written in it.`,
        'Compile it to JavaScript, use a newer Node.js, or set NODE_OPTIONS="--import tsx".',
      );
    }
    const message = cause instanceof Error ? cause.message : String(cause);
    throw bad(`The module ${file} cannot be loaded: ${message}`, undefined, cause);
  }
}

function isUnknownExtension(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ERR_UNKNOWN_FILE_EXTENSION';
}

/** A definition that is exported twice, by name and in a list, is one definition. */
function definitionsIn(
  exports: Readonly<Record<string, unknown>>,
  file: string,
): ReadonlySet<TaskDefinition> {
  const definitions = new Set<TaskDefinition>();
  for (const [name, exported] of Object.entries(exports)) {
    const values: readonly unknown[] = Array.isArray(exported) ? exported : [exported];
    for (const value of values) {
      if (isTaskDefinition(value)) definitions.add(value);
      else if (claimsToBeTask(value)) {
        throw bad(
          `The export ${name} of ${file} is no whole task.`,
          'A task has a name that is text and a function run(input, context).',
        );
      }
    }
  }
  return definitions;
}

function claimsToBeTask(value: unknown): value is { readonly kind: 'millrace.task' } {
  return (
    typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'millrace.task'
  );
}

function isTaskDefinition(value: unknown): value is TaskDefinition {
  if (!claimsToBeTask(value)) return false;
  if (!('name' in value) || typeof value.name !== 'string') return false;
  return 'run' in value && typeof value.run === 'function';
}

function bad(what: string, todo?: string, cause?: unknown): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what,
    ...(todo === undefined ? {} : { todo }),
    ...(cause === undefined ? {} : { cause }),
  });
}
