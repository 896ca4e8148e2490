import type { CommandModule } from '../command.ts';
import { didYouMean } from '../../scheduler/core/index.ts';
import { readGrammar } from '../completion/grammar.ts';
import { SCRIPTS, SHELLS } from '../completion/scripts.ts';
import { exit } from '../exit.ts';
import { wrongUse } from '../server-call.ts';
import { withChoices } from '../settings.ts';

export const command: CommandModule = {
  examples: [
    'millrace completion bash > ~/.local/share/bash-completion/completions/millrace',
    'millrace completion zsh > "${fpath[1]}/_millrace"',
    'millrace completion fish > ~/.config/fish/completions/millrace.fish',
  ],
  declare(command) {
    command.addArgument(withChoices('<shell>', SHELLS.join(', '), SHELLS));
  },
  async run(command, reply) {
    const [word = ''] = command.args;
    const shell = SHELLS.find((each) => each === word);
    if (shell === undefined) {
      throw wrongUse(
        `No completion script for shell '${word}'.${didYouMean(word, SHELLS)}`,
        `Use ${SHELLS.join(', ')}.`,
      );
    }
    const script = SCRIPTS[shell](await readGrammar());
    if (command.opts<{ json?: true }>().json === true) reply.answer({ shell, script });
    else reply.say(script.trimEnd());
    return exit.done;
  },
};
