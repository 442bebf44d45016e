// `fleet completion`: prints a completion script.
import type { Area } from '../area.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_fleet() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _fleet fleet
`,
  zsh: `#compdef fleet
_fleet() {
  local -a found
  found=("\${(@f)$("$words[1]" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- $found
}
compdef _fleet fleet
`,
  fish: `complete -c fleet -f -a '(fleet __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
}

export const completion: Area = (command, cli) => {
  command
    .addArgument(command.createArgument('<shell>', 'shell to print the script for').choices(SHELLS))
    .addHelpText(
      'after',
      '\nExamples:\n  source <(fleet completion bash)                      # in ~/.bashrc\n' +
        '  source <(fleet completion zsh)                       # in ~/.zshrc, after compinit\n' +
        '  fleet completion fish > ~/.config/fish/completions/fleet.fish\n',
    )
    .action((shell: Shell) => cli.output.text(SCRIPTS[shell]))
}
