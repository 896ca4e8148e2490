import { Command, CommanderError } from 'commander';
import { isMillraceError } from '../scheduler/core/index.ts';
import { catalogue } from './catalogue.ts';
import { type CommandModule, declareShared, type Reply, type Surroundings } from './command.ts';
import { exit, type ExitCode, exitCodeOf } from './exit.ts';
import { printable } from './table.ts';
import { versionLine } from './version-line.ts';

/** Runs one command line and returns its exit code. It never throws and never ends the process. */
export async function run(argv: readonly string[], world: Surroundings): Promise<ExitCode> {
  let code: ExitCode = exit.done;
  try {
    const program = await declareProgram(argv, world, (result) => (code = result));
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) explain(error, argv, world);
    return world.signal.aborted ? exit.interrupted : exitCodeOf(error);
  }
}

async function declareProgram(
  argv: readonly string[],
  world: Surroundings,
  finish: (code: ExitCode) => void,
): Promise<Command> {
  const program = new Command('millrace')
    .description('Durable task graphs and distributed SQL over Parquet, on one scheduler.')
    .version(versionLine())
    .configureOutput({ writeOut: world.out, writeErr: world.err })
    .showHelpAfterError('Run it with --help for usage.')
    .exitOverride();
  const named = argv.filter((word) => !word.startsWith('-')).slice(0, 2);
  for (const { name, summary, load } of catalogue) {
    const command = program.command(name).description(summary);
    // Only what is named (also as `help NAME`) is loaded.
    if (named.includes(name)) declareCommand(command, (await load()).command, world, finish);
  }
  return program;
}

function declareCommand(
  command: Command,
  module: CommandModule,
  world: Surroundings,
  finish: (code: ExitCode) => void,
): void {
  module.declare(command);
  declareShared(command);
  command
    .addHelpText('after', `\nExamples:\n${module.examples.map((line) => `  $ ${line}\n`).join('')}`)
    .action(async () => {
      const reply = replyTo(command.opts<{ json?: true }>().json ?? false, world);
      finish(await module.run(command, reply, world.signal));
    });
}

function replyTo(json: boolean, world: Surroundings): Reply {
  // Lines quote names, errors and logs of others: none of them may control a terminal.
  const toStderr = (line: string): void => world.err(`${line}\n`);
  let note = toStderr;
  return {
    say: (line) => (json ? world.err : world.out)(`${printable(line)}\n`),
    answer: (value) => {
      if (json) world.out(`${JSON.stringify(value)}\n`);
    },
    note: (line) => note(printable(line)),
    terminal: world.terminal ?? null,
    page: world.page ?? null,
    write: world.write ?? textWriter(world.out),
    input: world.input ?? null,
    printThrough(print) {
      note = print;
      return () => (note = toStderr);
    },
  };
}

function textWriter(out: Surroundings['out']): Reply['write'] {
  const decoder = new TextDecoder();
  return (bytes) => Promise.resolve(out(decoder.decode(bytes, { stream: true })));
}

/** Says what went wrong without a stack trace, unless one was asked for. */
function explain(error: unknown, argv: readonly string[], world: Surroundings): void {
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error ? error.stack : undefined;
  // A message may quote what a server or a file contains.
  world.err(`millrace: ${printable(argv.includes('--debug') ? (stack ?? message) : message)}\n`);
  if (argv.includes('--json')) {
    const code = isMillraceError(error) ? error.code : 'unexpected';
    const path = isMillraceError(error) ? error.path : undefined;
    world.out(`${JSON.stringify({ error: { code, message, path } })}\n`);
  }
}
