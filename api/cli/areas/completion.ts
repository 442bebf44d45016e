// `fleet completion`.

import type { Area } from '../area.ts'
import { SCRIPTS, SHELLS, type Shell } from '../completion.ts'

export const completion: Area = (command, cli) => {
  command
    .addArgument(command.createArgument('<shell>', 'your shell').choices(SHELLS))
    .addHelpText(
      'after',
      '\nExamples:\n  source <(fleet completion bash)                      # in ~/.bashrc\n' +
        '  source <(fleet completion zsh)                       # in ~/.zshrc, after compinit\n' +
        '  fleet completion fish > ~/.config/fish/completions/fleet.fish\n',
    )
    .action((shell: Shell) => cli.output.text(SCRIPTS[shell]))
}
