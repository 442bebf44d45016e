// The command `delete` of an area. It asks for confirmation and reports what was deleted.
import type { Command } from 'commander'
import type { Client } from '../../schemas/client.ts'
import type { Cli } from './cli.ts'
import { YES_OPTION } from './option-parsers.ts'
import { confirm } from './prompt.ts'

export interface DeleteOptions {
  readonly description: string
  readonly argument: readonly [name: string, description: string]
  remove(client: Client, id: string): Promise<unknown>
}

export function addDelete(area: Command, cli: Cli, { description, argument, remove }: DeleteOptions): void {
  area
    .command('delete')
    .description(description)
    .argument(...argument)
    .option(...YES_OPTION)
    .action(async (id: string, { yes }: { yes?: boolean }) => {
      const { client } = await cli.connect()
      await confirm(`Delete ${id}?`, yes)
      await remove(client, id)
      cli.output.note(`deleted ${id}`)
    })
}
