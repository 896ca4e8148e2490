/**
 * `npm run guide`: writes the pages of the guide that follow from the code, settings and
 * commands. A test compares them with what is there.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Argument, Command, Help, type Option } from 'commander';
import { catalogue } from '../src/cli/catalogue.ts';
import { declareShared } from '../src/cli/command.ts';
import {
  entryOf,
  environmentName,
  flagName,
  type SettingName,
  settingNames,
} from '../src/node/config/index.ts';
import { defaultSettings, jobSchema } from '../src/scheduler/core/index.ts';

export interface GeneratedPage {
  readonly path: string;
  readonly text: string;
}

const GUIDE = join(import.meta.dirname, '../docs/guide');
const NOTE =
  '<!-- Written by scripts/guide-pages.ts. Change it there, or in the code that it reads. -->';

export async function guidePages(): Promise<readonly GeneratedPage[]> {
  return [
    { path: join(GUIDE, 'settings.md'), text: settingsPage() },
    { path: join(GUIDE, 'cli.md'), text: await commandsPage() },
  ];
}

const SETTINGS = `# Settings

${NOTE}

Every setting can be given as a flag, an environment variable or a line of a file. Flags take precedence over variables, variables
over the file, the file over the default. The file is \`--config\`, \`MILLRACE_CONFIG\`, or \`millrace.config.json\`, \`.yaml\` or \`.yml\` in the
working folder. It contains names and values, for example \`sessionTtlMs: 30s\`; paths in it are relative to it.

An invalid value or an unknown name prevents the start. \`millrace config\` shows every value and its source. In a program, use the
\`settings\` of \`createRuntime\`, \`startServer\` and \`startWorker\`, which read no variables and no file.

Durations (\`...Ms\`) are milliseconds or \`1.5s\`, \`10m\`, \`2h\`, \`7d\`. Sizes (\`...Bytes\`) are bytes or \`64KiB\` (1,024),
\`1GB\` (1,000,000,000). A list is a repeated flag, or a variable with commas.
`;

const NODE_HEADING = `## Node and client

These are set per process.
`;

const SCHEDULER_HEADING = `## Scheduler

These apply on the leader: give all servers the same values. \`heartbeatMs\` and \`sessionTtlMs\` also apply on workers. The following
relations are checked:

- \`leaderRenewMs\` is at most a third of \`leaderTtlMs\`
- \`heartbeatMs\` is at most a third of \`sessionTtlMs\`
- \`sessionTtlMs\` is at least \`leaderTtlMs\` + \`leaderRenewMs\` + \`heartbeatMs\`, so that workers outlive a fail-over
- \`nodeDeadMs\` is at least \`sessionTtlMs\`
- \`eventRetentionMs\` is at most \`jobRetentionMs\`
`;

function settingsPage(): string {
  const isScheduler = (name: SettingName): boolean => Object.hasOwn(defaultSettings, name);
  const rows = (names: readonly SettingName[]): string =>
    table(['setting', 'default', 'flag', 'meaning'], names.map(settingRow));
  return [
    SETTINGS,
    NODE_HEADING,
    rows(settingNames.filter((name) => !isScheduler(name))),
    SCHEDULER_HEADING,
    rows(settingNames.filter(isScheduler)),
  ].join('\n');
}

function settingRow(name: SettingName): readonly string[] {
  const { kind, fallback, help } = entryOf(name);
  const shown = fallback === undefined ? '' : kind.show(fallback);
  const flag = flagName(name);
  return [
    `\`${name}\`<br>\`${environmentName(name)}\``,
    shown === '' ? '-' : `\`${shown}\``,
    flag === null ? '-' : `\`${flag}\``,
    help,
  ];
}

const COMMANDS = `# The command line

${NOTE}

\`millrace COMMAND --help\` shows the same with examples. Every command accepts \`--json\` (JSON on stdout; human-readable text goes to
stderr) and \`--debug\` (stack traces). Every [setting](settings.md) is also a flag of every command that reads settings; the tables list
the most common ones.

Exit codes: 0 done, 1 the work failed, 2 wrong use or bad input, 3 server not reachable or not leader, 130 interrupted.

\`millrace completion bash\` (or \`zsh\`, \`fish\`) prints a completion script for your shell.
`;

async function commandsPage(): Promise<string> {
  const sections = await Promise.all(
    catalogue.map(async ({ name, summary, load }) => {
      const { command: module } = await load();
      const command = new Command(name).description(summary);
      module.declare(command);
      const own = new Set(command.options);
      declareShared(command);
      return section(command, summary, [...own], module.examples);
    }),
  );
  return [COMMANDS, ...sections].join('\n');
}

function section(
  command: Command,
  summary: string,
  options: readonly Option[],
  examples: readonly string[],
): string {
  const places = command.registeredArguments.map((place) => [
    `\`${new Help().argumentTerm(place)}\``,
    [place.description, ...choices(place.argChoices)].join(': '),
  ]);
  const flags = options
    .filter(({ hidden }) => !hidden)
    .map((option) => [
      `\`${option.flags}\``,
      [option.description, ...choices(option.argChoices)].join(': '),
    ]);
  const usage = ['millrace', command.name(), ...command.registeredArguments.map(placeWords)];
  return [
    `## ${command.name()}\n`,
    `\`${usage.join(' ')}\`: ${summary}.\n`,
    ...(places.length + flags.length === 0 ? [] : [table(['', ''], [...places, ...flags])]),
    `\`\`\`sh\n${examples.join('\n')}\n\`\`\`\n`,
  ].join('\n');
}

function placeWords(place: Argument): string {
  return place.required ? `<${place.name()}>` : `[${place.name()}]`;
}

function choices(words: readonly string[] | undefined): readonly string[] {
  return words === undefined ? [] : [words.join(', ')];
}

/** Padded as the formatter pads them, so that formatting changes nothing. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((title, at) =>
    Math.max(3, title.length, ...cells.map((row) => row[at]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return `${[line(head), rule, ...cells.map(line)].join('\n')}\n`;
}

/** Only when it is run, not when a test reads it. */
if (process.argv[1] === import.meta.filename) {
  for (const { path, text } of await guidePages()) {
    const isSame = readFileSync(path, { encoding: 'utf8', flag: 'a+' }) === text;
    if (!isSame) writeFileSync(path, text);
    console.log(`${path}${isSame ? ' is current' : ' is written'}`);
  }
  // The formatter has the last word on its lines, so only its content is compared.
  const schema = join(GUIDE, '../job.schema.json');
  const text = JSON.stringify(jobSchema);
  const isSame = JSON.stringify(JSON.parse(readFileSync(schema, 'utf8'))) === text;
  if (!isSame) writeFileSync(schema, `${JSON.stringify(jobSchema, null, 2)}\n`);
  console.log(`${schema}${isSame ? ' is current' : ' is written'}`);
}
