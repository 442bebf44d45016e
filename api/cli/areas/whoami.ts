// `fleet whoami`: the service and the account that commands use.
import type { Me } from '../../../schemas/auth.ts'
import type { Area } from '../area.ts'

export const whoami: Area = (command, cli) => {
  command.action(async () => {
    const { client } = await cli.connect()
    cli.output.item<Me & { readonly url: string }>({ ...(await client.me()), url: cli.url() }, [
      ['url', ({ url }) => url],
      ['id', ({ id }) => id],
      ['email', ({ email }) => email ?? undefined],
      ['name', ({ name }) => name],
      ['role', ({ role }) => role],
      ['groups', ({ groups }) => (groups.length === 0 ? 'all' : groups)],
    ])
  })
}
