/** Settings as flags: every setting is one, and a command shows in its help those that people use with it. */
import { Argument, type Command, Option } from 'commander';
import {
  type Config,
  entryOf,
  environmentName,
  flagName,
  type Flags,
  loadConfig,
  type SettingName,
  settingNames,
} from '../node/config/index.ts';

class SettingOption extends Option {
  readonly setting: SettingName;

  constructor(flag: string, setting: SettingName) {
    const { kind, fallback, help } = entryOf(setting);
    const text = fallback === undefined ? '' : kind.show(fallback);
    const note = text === '' || kind.word === '' ? '' : ` (default ${text})`;
    super(kind.word === '' ? flag : `${flag} <${kind.word}>`, `${help}${note}`);
    this.setting = setting;
    if (kind.isRepeatable) {
      this.argParser((value, previous?: readonly string[]) => [...(previous ?? []), value]);
    }
  }
}

/** What the built-in executors of a worker may do. */
export const EXECUTOR_SETTINGS = [
  'allowPrivateHttp',
  'allowCommand',
  'allowEnv',
  'allowContainer',
] as const;

/** Who may connect, and over what. */
export const ACCESS_SETTINGS = ['tokenFile', 'tlsCert', 'tlsKey', 'tlsCa', 'insecure'] as const;

/** `shown` come first, and where two settings share a flag (`--server`) the shown one has it. A flag that the command has
 * declared before is its own. */
export function declareSettings(command: Command, shown: readonly SettingName[]): void {
  command.option('--config <file>', 'configuration file, JSON or YAML (or MILLRACE_CONFIG)');
  const taken = new Set(command.options.flatMap(({ long }) => long ?? []));
  for (const name of [...shown, ...settingNames]) {
    const flag = flagName(name);
    if (flag === null || taken.has(flag)) continue;
    taken.add(flag);
    command.addOption(new SettingOption(flag, name).hideHelp(!shown.includes(name)));
  }
  command.addHelpText(
    'after',
    `\nEvery setting that \`millrace config\` lists is a flag and a variable as well, such as ` +
      `--session-ttl-ms\nand ${environmentName('sessionTtlMs')}.`,
  );
}

/** What the command line, the environment and the file say together. */
export function configFor(
  command: Command,
  environment: NodeJS.ProcessEnv,
  folder: string = '.',
): Config {
  const given = command.opts<Readonly<Record<string, unknown>>>();
  const flags: Flags = Object.fromEntries(
    command.options
      .filter((option) => option instanceof SettingOption)
      .map((option) => [option.setting, given[option.attributeName()]]),
  );
  const file = given['config'];
  return loadConfig({
    flags,
    environment,
    folder,
    ...(typeof file === 'string' ? { configFile: file } : {}),
  });
}

/** An option with a list of values. The command itself refuses others; the list is for help and completion. */
export function withWords(flag: string, help: string, words: readonly string[]): Option {
  const option = new Option(flag, help);
  option.argChoices = [...words];
  return option;
}

/** The same for an argument. */
export function withChoices(flag: string, help: string, words: readonly string[]): Argument {
  const argument = new Argument(flag, help);
  argument.argChoices = [...words];
  return argument;
}
