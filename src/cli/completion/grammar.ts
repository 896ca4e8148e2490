/**
 * The grammar of the command line, derived from the commands, so that what is added there is completed here.
 */
import { type Argument, Command, type Option } from 'commander';
import { catalogue } from '../catalogue.ts';
import { declareShared } from '../command.ts';

/** What may be completed at a place: words of a list, a file, or something that only the user knows. */
export type Place =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'file' }
  | { readonly kind: 'folder' }
  | { readonly kind: 'free' };

export interface OptionWords {
  readonly flag: string;
  readonly summary: string;
  /** Null for a switch. */
  readonly value: Place | null;
}

export interface CommandWords {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly OptionWords[];
  readonly places: readonly Place[];
}

export async function readGrammar(): Promise<readonly CommandWords[]> {
  return Promise.all(
    catalogue.map(async ({ name, summary, load }) => {
      const command = new Command(name);
      (await load()).command.declare(command);
      declareShared(command);
      return {
        name,
        summary,
        options: [...optionsOf(command), HELP],
        places: command.registeredArguments.map((each) => placeOf(each, each.name())),
      };
    }),
  );
}

const HELP: OptionWords = { flag: '--help', summary: 'show help', value: null };

/** Every setting is a flag of every node; those that the help hides are left out here as well. */
function optionsOf(command: Command): readonly OptionWords[] {
  return command.options
    .filter(({ hidden, long }) => !hidden && long !== undefined)
    .map((option) => ({
      flag: option.long ?? '',
      summary: option.description,
      value: valueOf(option),
    }));
}

function valueOf(option: Option): Place | null {
  if (!option.required && !option.optional) return null;
  return placeOf(option, /<([^>]+)>/.exec(option.flags)?.[1] ?? '');
}

function placeOf({ argChoices }: Argument | Option, word: string): Place {
  if (argChoices !== undefined) return { kind: 'words', words: argChoices };
  if (/^[a-z]+(\|[a-z]+)+$/.test(word)) return { kind: 'words', words: word.split('|') };
  if (/^(dir|folder)$/.test(word)) return { kind: 'folder' };
  return { kind: /^(file|path)$/.test(word) ? 'file' : 'free' };
}
