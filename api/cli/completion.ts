// Candidates for the next word of a command line, for shell completion.
import type { Command, Option } from 'commander'
import type { Program } from './program.ts'

/** Candidates for the last of `words`, which is the one being typed. */
export async function complete(
  { command: root, load }: Program,
  words: readonly string[],
): Promise<readonly string[]> {
  let command = root
  let awaited: Option | undefined
  for (const word of words.slice(0, -1)) {
    const isValue = awaited !== undefined
    awaited = isValue ? undefined : optionOf(command, root, word)
    if (isValue || word.startsWith('-')) continue
    if (command === root) await load(word)
    command = command.commands.find((below) => below.name() === word) ?? command
  }
  const typed = words.at(-1) ?? ''
  return candidates(command, root, { typed, awaited }).filter((text) => text.startsWith(typed))
}

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
  { typed, awaited }: { readonly typed: string; readonly awaited: Option | undefined },
): readonly string[] {
  if (awaited !== undefined) return awaited.argChoices ?? []
  if (typed.startsWith('-'))
    return [...command.options, ...root.options].flatMap(({ long }) => long ?? []).concat('--help')
  return [
    ...command.commands.map((below) => below.name()),
    ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
  ]
}
