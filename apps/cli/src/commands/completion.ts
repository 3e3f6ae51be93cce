import { Argument, type Command } from 'commander';

/** Each shell asks the command itself, so that completion is never out of date. Where the shell does not find the command, as in a checkout, it uses `here`. */
const SCRIPTS = {
  bash: (here: string) => `command -v tollgate >/dev/null || tollgate() { ${here} "$@"; }
_tollgate() {
  local IFS=$'\\n'
  COMPREPLY=($(tollgate __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -F _tollgate tollgate
`,
  zsh: (here: string) => `#compdef tollgate
command -v tollgate >/dev/null || tollgate() { ${here} "$@"; }
_tollgate() {
  local -a found
  found=("\${(@f)$(tollgate __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a found
}
compdef _tollgate tollgate
`,
  fish: (here: string) => `type -q tollgate; or function tollgate; ${here} $argv; end
complete -c tollgate -f -a '(tollgate __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
} as const;

/** Returns the command line of this program, as every shell reads it. */
function thisProgram(): string {
  const quoted = [process.execPath, process.argv[1] ?? ''].map(
    (word) => `'${word.replaceAll("'", String.raw`'\''`)}'`,
  );
  return quoted.join(' ');
}

export function addCompletionCommands(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of a shell: source <(tollgate completion bash)')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .action(
      (shell: keyof typeof SCRIPTS) => void process.stdout.write(SCRIPTS[shell](thisProgram())),
    );
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .helpOption(false)
    .action((words: string[]) => {
      process.stdout.write(
        complete(program, words)
          .map((word) => `${word}\n`)
          .join(''),
      );
    });
}

/** Returns the words that may replace the last of `words`, which may be empty. */
export function complete(program: Command, words: readonly string[]): string[] {
  const typed = words.at(-1) ?? '';
  let command = program;
  for (const word of words.slice(0, -1)) {
    const next = command.commands.find(
      (child) => child.name() === word || child.aliases().includes(word),
    );
    if (next) command = next;
  }
  const visible = command
    .createHelp()
    .visibleCommands(command)
    .map((child) => child.name());
  const options = [...command.options, ...program.options]
    .filter((option) => !option.hidden)
    .map((option) => option.long ?? '');
  const candidates = typed.startsWith('-') ? options : visible;
  return candidates.filter((candidate) => candidate.startsWith(typed) && candidate !== 'help');
}
