// `fleet contexts`: the stored logins. Tokens are never shown.
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { EXIT, Failure } from '../failure.ts'

export const contexts: Area = (command, cli) => {
  command
    .command('list')
    .description('list stored logins')
    .action(() => list(cli))
  command
    .command('use <name>')
    .description('make a login the current one')
    .action((name: string) => {
      requireContext(cli, name)
      cli.contexts.change((before) => ({ ...before, current: name }))
      cli.output.note(`${name} is now the current login`)
    })
  command
    .command('remove <name>')
    .description('remove a stored login; `fleet logout` also ends its session')
    .action((name: string) => {
      requireContext(cli, name)
      cli.contexts.change((before) => {
        const { [name]: _, ...rest } = before.contexts
        return { current: before.current === name ? undefined : before.current, contexts: rest }
      })
      cli.output.note(`removed ${name}`)
    })
}

function list(cli: Cli): void {
  const { current, contexts: all } = cli.contexts.read()
  const rows = Object.entries(all).map(([name, { url, email, apiKey }]) => ({
    name,
    url,
    email: email ?? null,
    kind: apiKey === undefined ? 'login' : 'api_key',
    in_use: name === current,
  }))
  cli.output.list(rows, [
    ['IN USE', ({ in_use }) => (in_use ? '*' : '')],
    ['NAME', ({ name }) => name],
    ['URL', ({ url }) => url],
    ['WHO', ({ email, kind }) => email ?? kind],
  ])
}

function requireContext(cli: Cli, name: string): void {
  if (!Object.hasOwn(cli.contexts.read().contexts, name))
    throw new Failure(
      EXIT.notFound,
      `there is no context ${name}; run \`fleet contexts list\` to see all of them`,
    )
}
