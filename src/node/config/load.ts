/** Puts a configuration together: flags win over the environment, that over a file, that over defaults. */
import { dirname } from 'node:path';
import {
  didYouMean,
  isMillraceError,
  type Json,
  MillraceError,
  type Settings,
} from '../../scheduler/core/index.ts';
import { redactUrl } from '../../kit/index.ts';
import { type ConfigFile, readConfigFile } from './file.ts';
import type { NodeSettings } from './node-settings.ts';
import { brokenRelation } from './relations.ts';
import {
  coreTable,
  entryOf,
  environmentName,
  flagName,
  nodeTable,
  type SettingName,
  settingNames,
} from './table.ts';

/** What the command line gave, by the name of the setting: text, a list of texts, or true. */
export type Flags = { readonly [Name in SettingName]?: unknown };

export interface ConfigSources {
  readonly flags?: Flags;
  /** `--config`. */
  readonly configFile?: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where to look for a file that was not named. */
  readonly folder?: string;
  /** The file as it was read, so that all who put the settings together get the same; null for none. A pipe can be read once. */
  readonly file?: ConfigFile | null;
}

export type SettingSource = 'flag' | 'environment' | 'file' | 'default';

export interface EffectiveSetting {
  readonly name: SettingName;
  /** Without secrets; null where nothing is set. */
  readonly value: Json;
  /** The same for people: `20s`, `16MiB`. */
  readonly text: string;
  readonly source: SettingSource;
  /** The flag, the variable or the file; empty for a default. */
  readonly from: string;
  readonly help: string;
}

export interface Config {
  readonly core: Settings;
  readonly node: NodeSettings;
  /** What it was put together from, and is again without reading anything. */
  readonly sources: ConfigSources;
  /** The file that was read, if any. */
  readonly file: string | undefined;
  readonly effective: () => readonly EffectiveSetting[];
  /** It was set explicitly: it is not a default. */
  readonly isGiven: (name: SettingName) => boolean;
}

interface Given {
  readonly raw: unknown;
  readonly source: SettingSource;
  readonly from: string;
}

interface Chosen extends Omit<Given, 'raw'> {
  readonly value: unknown;
}

const NOT_GIVEN: Given = { raw: undefined, source: 'default', from: '' };
const CONFIG_VARIABLE = 'MILLRACE_CONFIG';

/** Every value is checked before any is used; all mistakes are reported together. */
export function loadConfig(sources: ConfigSources = {}): Config {
  const { flags = {}, environment = {}, folder = '.' } = sources;
  const file = sources.file === undefined ? fileFor(sources, environment, folder) : sources.file;
  const problems = [...strangersIn(file), ...strangersAmong(environment)];
  const chosen = new Map<SettingName, Chosen>();
  for (const name of settingNames) {
    const given = givenFor(name, flags, environment, file);
    const reading = readSetting(name, given);
    if (typeof reading === 'string') problems.push(reading);
    else chosen.set(name, { ...given, value: reading.value });
  }
  if (problems.length > 0) refuse(problems.join('\n'));
  // A node that does not say how many slots it has gets what the cluster's setting says.
  const slots = chosen.get('slotsPerNode');
  if (chosen.get('slots')?.source === 'default' && slots) chosen.set('slots', slots);
  return configOf(chosen, { ...sources, file: file ?? null });
}

function configOf(chosen: ReadonlyMap<SettingName, Chosen>, sources: ConfigSources): Config {
  // Each value was read by the kind that its entry in the table names: the types agree.
  const pick = <T>(table: T): unknown =>
    Object.fromEntries(
      Object.keys(table as object).map((name) => [name, chosen.get(name as SettingName)?.value]),
    );
  const core = pick(coreTable) as Settings;
  const node = pick(nodeTable) as NodeSettings;
  const broken = brokenRelation(core, node);
  if (broken) {
    const origins = broken.about.map((name) => `${name}: ${originOf(chosen.get(name))}`);
    refuse(broken.problem, `Where they come from: ${origins.join('; ')}.`);
  }
  return {
    core,
    node,
    sources,
    file: sources.file?.path,
    effective: () => effectiveSettings(chosen),
    isGiven: (name) => chosen.get(name)?.source !== 'default',
  };
}

function fileFor(
  { configFile }: ConfigSources,
  { [CONFIG_VARIABLE]: variable }: Readonly<Record<string, string | undefined>>,
  folder: string,
): ConfigFile | null {
  const named = configFile ?? (variable === '' ? undefined : variable);
  return (
    readConfigFile(named, configFile === undefined ? CONFIG_VARIABLE : '--config', folder) ?? null
  );
}

function givenFor(
  name: SettingName,
  flags: Flags,
  environment: Readonly<Record<string, string | undefined>>,
  file: ConfigFile | null,
): Given {
  const flag = flags[name];
  if (flag !== undefined) return { raw: flag, source: 'flag', from: flagName(name) ?? name };
  const from = environmentName(name);
  const variable = environment[from];
  // Compose files pass on unset variables as empty text: that is not a value.
  if (variable !== undefined && variable !== '' && !isServiceLink(from, variable)) {
    return { raw: variable, source: 'environment', from };
  }
  const value = file !== null && Object.hasOwn(file.values, name) ? file.values[name] : null;
  if (file === null || value === null) return NOT_GIVEN;
  return { raw: value, source: 'file', from: file.path };
}

function readSetting(name: SettingName, given: Given): { readonly value: unknown } | string {
  const { kind, fallback, isSecret } = entryOf(name);
  if (given.source === 'default') return { value: fallback };
  const label = given.source === 'file' ? name : given.from;
  const where = given.source === 'file' ? given.from : given.source;
  const actual = isSecret ? '' : `, not ${quoted(given.raw)}`;
  const problem = `${label} (${where}): it must be ${kind.expected}${actual}.`;
  try {
    const value = kind.read(given.raw);
    if (value === undefined) return problem;
    if (given.source !== 'file' || kind.relativeTo === undefined) return { value };
    return { value: kind.relativeTo(value, dirname(given.from)) };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return `${label} (${where}): ${error.message}`;
  }
}

function strangersIn(file: ConfigFile | null): string[] {
  return Object.keys(file?.values ?? {})
    .filter((name) => !settingNames.some((known) => known === name))
    .map(
      (name) =>
        `${quoted(name)} (${file?.path}): unknown setting.${didYouMean(name, settingNames)}`,
    );
}

function strangersAmong(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = [CONFIG_VARIABLE, ...settingNames.map(environmentName)];
  return Object.entries(environment)
    .filter(([name]) => name.startsWith('MILLRACE_') && !known.includes(name))
    .filter(([name, value]) => !isServiceLink(name, value ?? ''))
    .map(([name]) => `${name} (environment): unknown setting.${didYouMean(name, known)}`);
}

/**
 * Kubernetes gives every container the addresses of all services: with one named `millrace` it sets
 * MILLRACE_PORT=tcp://10.0.0.1:7070 and its like. They are not ours to read or to refuse.
 */
function isServiceLink(name: string, value: string): boolean {
  if (/_SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?$/.test(name)) return true;
  if (/_PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?$/.test(name)) return true;
  return name.endsWith('_PORT') && /^(tcp|udp):\/\//.test(value);
}

function effectiveSettings(chosen: ReadonlyMap<SettingName, Chosen>): EffectiveSetting[] {
  return settingNames.map((name) => {
    const { value, source, from } = chosen.get(name) ?? { ...NOT_GIVEN, value: undefined };
    const { kind, help } = entryOf(name);
    const text = value === undefined ? '' : kind.show(value);
    // Text is shown as its kind shows it, which leaves secrets out; the rest has none.
    const plain = typeof value === 'string' ? text : ((value ?? null) as Json);
    return { name, value: plain, text, source, from, help };
  });
}

function originOf(chosen: Chosen | undefined): string {
  if (chosen === undefined || chosen.source === 'default') return 'default';
  return `${chosen.from} (${chosen.source})`;
}

function quoted(raw: unknown): string {
  const text = redactUrl(typeof raw === 'string' ? raw : (JSON.stringify(raw) ?? String(raw)));
  return `'${text.length > 80 ? `${text.slice(0, 80)}...` : text}'`;
}

function refuse(what: string, why?: string): never {
  throw new MillraceError({ code: 'bad_setting', what, why });
}
