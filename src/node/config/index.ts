/**
 * Settings: one table of every knob with its kind and default, and the one way to put a configuration
 * together from flags, MILLRACE_* variables, a file and the defaults, in that order. Values are checked
 * here, one by one and against each other, and are shown without secrets. What a setting does lives
 * where it is read; the scheduler's own defaults and relations live in the core.
 */
export { loadConfig } from './load.ts';
export type { Config, ConfigSources, EffectiveSetting, Flags } from './load.ts';
export type { NodeRole, NodeSettings } from './node-settings.ts';
export { entryOf, environmentName, flagName, settingNames } from './table.ts';
export type { AllSettings, SettingName } from './table.ts';
export { parseBytes, parseMs } from './units.ts';
