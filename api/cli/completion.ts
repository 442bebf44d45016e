// Candidates for the next word of a command line, for shell completion.
import type { Argument, Command, Option } from 'commander'
import type { Program } from './program.ts'

/** Candidates for the last of `words`, which is being typed. `devicesLike` returns ids that begin with a text. */
export async function complete(
  { command: root, load }: Program,
  words: readonly string[],
  devicesLike: (typed: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  let command = root
  let given = 0
  let pendingOption: Option | undefined
  for (const word of words.slice(0, -1)) {
    if (pendingOption !== undefined) {
      // Sets the service and the login with which ids are looked up.
      if (root.options.includes(pendingOption)) root.setOptionValue(pendingOption.attributeName(), word)
      pendingOption = undefined
      continue
    }
    pendingOption = optionOf(command, root, word)
    if (word.startsWith('-')) continue
    if (command === root) await load(word)
    const subcommand = command.commands.find((each) => each.name() === word || each.aliases().includes(word))
    given = subcommand === undefined ? given + 1 : 0
    command = subcommand ?? command
  }
  const typed = words.at(-1) ?? ''
  const isDevice =
    pendingOption === undefined
      ? !typed.startsWith('-') && argumentOf(command, given)?.name() === DEVICE
      : pendingOption.flags.includes(`<${DEVICE}>`)
  const found = isDevice ? await devicesLike(typed) : candidates(command, root, { typed, pendingOption })
  return found.filter((text) => text.startsWith(typed))
}

/** The last argument may accept all following words. */
function argumentOf({ registeredArguments: all }: Command, index: number): Argument | undefined {
  const last = all.at(-1)
  return all[index] ?? (last?.variadic === true ? last : undefined)
}

/** The name of arguments and option values that are device ids. */
const DEVICE = 'device_id'

/** The option named by `word`, if it takes the next word as its value. */
function optionOf(command: Command, root: Command, word: string): Option | undefined {
  const option = [...command.options, ...root.options].find(
    ({ short, long }) => word === short || word === long,
  )
  return option !== undefined && (option.required || option.optional) ? option : undefined
}

function candidates(
  command: Command,
  root: Command,
  { typed, pendingOption }: { readonly typed: string; readonly pendingOption: Option | undefined },
): readonly string[] {
  if (pendingOption !== undefined) return pendingOption.argChoices ?? []
  if (typed.startsWith('-'))
    return [...command.options, ...root.options].flatMap(({ long }) => long ?? []).concat('--help')
  return [
    ...command.commands.map((subcommand) => subcommand.name()),
    ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
  ]
}
