/** Completion for three shells: a table of what can be typed and a little code that reads it. */
import type { CommandWords, OptionWords, Place } from './grammar.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

type Grammar = readonly CommandWords[];

export const SCRIPTS: Readonly<Record<Shell, (grammar: Grammar) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

const GLOBAL = ['--help', '--version'] as const;

/** Single quotes keep a text from the shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function bashScript(grammar: Grammar): string {
  const names = [...grammar.map(({ name }) => name), 'help', ...GLOBAL].join(' ');
  const cases = grammar.map(({ name, options, places }) => {
    const flags = options.map(({ flag }) => flag).join(' ');
    const values = options
      .filter(({ value }) => value !== null)
      .map(({ flag, value }) => `        ${flag}) _millrace_place ${bashPlace(value)}; return ;;`);
    const positions = places.map(
      (place, at) => `        ${at}) _millrace_place ${bashPlace(place)} ;;`,
    );
    return [
      `    ${name})`,
      `      case "$prev" in`,
      ...values,
      `      esac`,
      `      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W ${quoted(flags)} -- "$cur")); return; fi`,
      `      _millrace_position ${quoted(takingValues(options))}`,
      `      case "$position" in`,
      ...positions,
      `      esac ;;`,
    ].join('\n');
  });
  return `# millrace completion for bash.
_millrace_place() {
  case "$1" in
    words) COMPREPLY=($(compgen -W "$2" -- "$cur")) ;;
    file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
    folder) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")) ;;
  esac
}

# How many arguments stand between the command and the cursor, without flags and their values.
_millrace_position() {
  local at
  position=0
  for ((at = 2; at < COMP_CWORD; at++)); do
    if [[ \${COMP_WORDS[at]} == -* ]]; then
      [[ " $1 " == *" \${COMP_WORDS[at]} "* ]] && at=$((at + 1))
    else
      position=$((position + 1))
    fi
  done
}

_millrace() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} position=0
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W ${quoted(names)} -- "$cur"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
    help)
      COMPREPLY=($(compgen -W ${quoted(grammar.map(({ name }) => name).join(' '))} -- "$cur")) ;;
${cases.join('\n')}
  esac
}
complete -F _millrace millrace
`;
}

function bashPlace(place: Place | null): string {
  if (place?.kind !== 'words') return place?.kind ?? 'free';
  return `words ${quoted(place.words.join(' '))}`;
}

function takingValues(options: readonly OptionWords[]): string {
  return options
    .filter(({ value }) => value !== null)
    .map(({ flag }) => flag)
    .join(' ');
}

function zshScript(grammar: Grammar): string {
  const commands = [...grammar, { name: 'help', summary: 'show help for a command' }]
    .map(({ name, summary }) => `    ${quoted(`${name}:${summary.replaceAll(':', '\\:')}`)}`)
    .join('\n');
  const cases = grammar.map(({ name, options, places }) => {
    const specs = [
      ...options.map(({ flag, summary, value }) => {
        const about = summary.replaceAll(/[[\]]/g, ' ').replaceAll(':', ' ');
        const action = value === null ? '' : `:${value.kind}:${zshAction(value)}`;
        return `'*'${quoted(`${flag}[${about}]${action}`)}`;
      }),
      ...places.map((place, at) => quoted(`${at + 1}:${place.kind}:${zshAction(place)}`)),
    ];
    return `        ${name})\n          _arguments ${specs.join(' \\\n            ')} ;;`;
  });
  return `#compdef millrace
# millrace completion for zsh.
_millrace() {
  local context state line
  local -a commands
  commands=(
${commands}
  )
  _arguments -C '--help[show help]' '--version[show the version]' '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
      case $words[1] in
        help) _describe command commands ;;
${cases.join('\n')}
      esac ;;
  esac
}
if [ "$funcstack[1]" = "_millrace" ]; then _millrace "$@"; else compdef _millrace millrace; fi
`;
}

function zshAction(place: Place): string {
  switch (place.kind) {
    case 'words':
      return `(${place.words.join(' ')})`;
    case 'file':
      return '_files';
    case 'folder':
      return '_files -/';
    case 'free':
      return ' ';
  }
}

function fishScript(grammar: Grammar): string {
  const lines = ['# millrace completion for fish.', 'complete -c millrace -f'];
  const first = 'complete -c millrace -n __fish_use_subcommand';
  for (const { name, summary } of [
    ...grammar,
    { name: 'help', summary: 'show help for a command' },
  ]) {
    lines.push(`${first} -a ${name} -d ${quoted(summary)}`);
  }
  for (const { name, options, places } of grammar) {
    const start = `complete -c millrace -n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
    for (const { flag, summary, value } of options) {
      const taken = value === null ? '' : ` ${fishPlace(value)}`;
      lines.push(`${start} -l ${flag.slice(2)}${taken} -d ${quoted(summary)}`);
    }
    for (const place of places) {
      if (place.kind === 'words') lines.push(`${start} -a ${quoted(place.words.join(' '))}`);
      else if (place.kind !== 'free') lines.push(`${start} -F`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function fishPlace(place: Place): string {
  switch (place.kind) {
    case 'words':
      return `-x -a ${quoted(place.words.join(' '))}`;
    case 'file':
      return '-r -F';
    case 'folder':
      return `-x -a ${quoted('(__fish_complete_directories)')}`;
    case 'free':
      return '-x';
  }
}
