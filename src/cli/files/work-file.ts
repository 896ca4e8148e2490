/** The arguments of `run`, `submit` and `schedules`: a job document, or a module with a flow or a task. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  didYouMean,
  isId,
  isMillraceError,
  type Json,
  MillraceError,
} from '../../scheduler/core/index.ts';
import type { Settings } from '../../scheduler/core/index.ts';
import type { Definitions, FlowDefinition, TaskDefinition } from '../../tasks/executors/index.ts';
import { wrongUse } from '../server-call.ts';
import { checkDocument } from './checked-document.ts';
import { type FileValue, type Locate, readDocuments } from './document-file.ts';

export interface WorkOptions {
  /** JSON text, or `@` and a file. */
  readonly input: string | undefined;
  /** Which one of the module's flows and tasks. */
  readonly flow: string | undefined;
  readonly settings: Settings;
}

export interface Work {
  readonly document: unknown;
  /** The file itself, if it is a module: a worker needs it. */
  readonly modules: readonly string[];
  /** Adds the line in the file to an error about the document. */
  readonly located: Locate;
}

const MODULE = /\.[cm]?[jt]sx?$/i;

export function isModule(file: string): boolean {
  return MODULE.test(file);
}

export async function readWork(
  file: string,
  options: WorkOptions,
  signal: AbortSignal,
): Promise<Work> {
  if (isModule(file)) return fromModule(file, options, signal);
  const [first, surplus] = await readDocuments(file, signal);
  if (first === undefined || surplus !== undefined || Array.isArray(first.value)) {
    throw wrongUse(`${file} contains several documents.`, 'Give a file with one job document.');
  }
  refuseModuleFlags(file, options);
  return fromDocument(first, options.settings);
}

/** A document that is checked already. */
function fromDocument(file: FileValue, settings: Settings): Work {
  checkDocument(file, settings);
  return { document: file.value, modules: [], located: file.located };
}

export function refuseModuleFlags(
  file: string,
  { input, flow }: Omit<WorkOptions, 'settings'>,
): void {
  const flag = input === undefined ? (flow === undefined ? null : '--flow') : '--input';
  if (flag === null) return;
  throw wrongUse(
    `${flag} applies to modules, and ${file} is a job document.`,
    'Put the input into the document, or give a TypeScript or JavaScript file.',
  );
}

async function fromModule(file: string, options: WorkOptions, signal: AbortSignal): Promise<Work> {
  const { loadDefinitions } = await import('../../tasks/executors/index.ts');
  const found = await loadDefinitions(file);
  // It is loaded by now: this only asks which of them is the default.
  const exports = (await import(pathToFileURL(resolve(file)).href)) as { default?: unknown };
  const chosen = choose(found, exports.default, file, options.flow);
  const input = await readInput(options.input, signal);
  const value = await documentOf(chosen, input, options.input !== undefined);
  const name = `The document of ${chosen.name}`;
  const located = (error: unknown): unknown => error;
  try {
    checkDocument({ value, located }, options.settings);
  } catch (error) {
    throw isMillraceError(error) ? retold(error, `${name} was rejected: ${error.what}`) : error;
  }
  return { document: value, modules: [resolve(file)], located };
}

type Runnable = FlowDefinition | TaskDefinition;

/** The default export, or else the only one: a flow rather than a task. */
function choose(
  { flows, tasks }: Definitions,
  main: unknown,
  file: string,
  wanted: string | undefined,
): Runnable {
  const all: readonly Runnable[] = [...flows, ...tasks];
  if (wanted !== undefined) {
    const named = all.find(({ name }) => name === wanted);
    if (named !== undefined) return named;
    const names = all.map(({ name }) => name);
    throw wrongUse(
      `${file} exports no flow and no task ${wanted}.${didYouMean(wanted, names)}`,
      `It exports ${names.join(', ')}.`,
    );
  }
  const preferred = all.find((each) => each === main);
  if (preferred !== undefined) return preferred;
  const candidates: readonly Runnable[] = flows.length > 0 ? flows : tasks;
  const [only, surplus] = candidates;
  if (only === undefined) {
    throw wrongUse(
      `The module ${file} exports no flow and no task.`,
      'Export what defineFlow or defineTask returns.',
    );
  }
  if (surplus === undefined) return only;
  const names = candidates.map(({ name }) => name);
  throw wrongUse(
    `${file} exports several: ${names.join(', ')}.`,
    `Choose one with --flow ${names[0]}, or export it as the default.`,
  );
}

async function documentOf(chosen: Runnable, input: Json, isGiven: boolean): Promise<unknown> {
  if (!('toDocument' in chosen) || typeof chosen.toDocument !== 'function') {
    const { name } = chosen;
    return { name, tasks: [{ id: isId(name) ? name : 'task', executor: name, input }] };
  }
  const { toDocument } = chosen as { toDocument: (input: unknown) => unknown };
  try {
    // A schema may tell a missing input from null.
    return await Reflect.apply(toDocument, chosen, [isGiven ? input : undefined]);
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const hint = isGiven ? error.todo : (error.todo ?? 'Give it with --input JSON.');
    throw retold(error, error.what, hint);
  }
}

function retold(error: MillraceError, what: string, todo = error.todo): MillraceError {
  const { code, why, path } = error;
  return new MillraceError({ code, what, cause: error, path, why, todo });
}

/** `@file` holds JSON or YAML, anything else is JSON itself. */
export async function readInput(text: string | undefined, signal: AbortSignal): Promise<Json> {
  if (text === undefined) return null;
  if (text.startsWith('@')) {
    const [first, surplus] = await readDocuments(text.slice(1), signal);
    if (first !== undefined && surplus === undefined) return first.value as Json;
    throw wrongUse(`${text.slice(1)} contains several documents.`, 'An input is one value.');
  }
  return jsonArgument('--input', text);
}

export function jsonArgument(what: string, text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw wrongUse(
      `'${text.length > 60 ? `${text.slice(0, 60)}...` : text}' is not valid JSON for ${what}.`,
      `A JSON string needs its own quotes, for example '"yes"'; @file reads a file.`,
    );
  }
}
