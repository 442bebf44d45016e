// `fleet certs`: a certificate authority in a folder on this machine, for devices that connect by certificate and for
// the service's own TLS. It works without a service.
import type { Command } from 'commander'
import type { Area } from '../area.ts'
import { Authority, AuthorityError, type CertificateFiles, type Issued } from '../certs/authority.ts'
import type { Cli } from '../cli.ts'
import { EXIT, Failure } from '../failure.ts'
import { wholeNumber } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { confirm } from '../prompt.ts'

const COLUMNS: readonly Column<Issued>[] = [
  ['NAME', ({ name }) => name],
  ['KIND', ({ kind }) => kind],
  ['EXPIRES', ({ expires_at }) => expires_at],
  ['REVOKED', ({ revoked_at }) => revoked_at],
  ['SERIAL', ({ serial }) => serial],
]
const DIR = ['--dir <folder>', 'where the CA is', 'certs'] as const
const DAYS = wholeNumber(1, 36_500)

export const certs: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet certs init --server mqtt.example.com\n  fleet certs issue robot-7\n' +
      '  fleet certs issue --server mqtt.example.com 10.0.0.1\n  fleet certs revoke robot-7\n\n' +
      'The service takes FLEET_TLS_CERT=certs/server.crt, FLEET_TLS_KEY=certs/server.key,\n' +
      'FLEET_TLS_CLIENT_CA=certs/ca.crt and FLEET_TLS_CRL=certs/ca.crl, and reads them again when they change.\n' +
      'A device gets devices/<id>.crt, devices/<id>.key and ca.crt. Keep ca.key where nobody else reads it.\n',
  )
  init(command, cli)
  issue(command, cli)
  revoke(command, cli)
  list(command, cli)
}

function init(command: Command, cli: Cli): void {
  command
    .command('init')
    .description('make a CA, and a certificate for the service')
    .option(...DIR)
    .option('--name <name>', 'what the CA is called', 'Fleet CA')
    .option('--days <days>', 'how long the CA counts', DAYS, 3_650)
    .option('--crl-url <url>', 'where the list of revoked certificates is served; EMQX needs it')
    .option('--server <hosts...>', 'names and addresses of the service', ['localhost', '127.0.0.1', '::1'])
    .action(({ dir, name, days, crlUrl, server }: InitOptions) => {
      const now = Date.now()
      const [host, ...more] = server
      if (host === undefined) throw new Failure(EXIT.usage, '--server needs a name')
      tell(() => {
        const authority = Authority.create(dir, { name, days, crlUrl, now })
        showFiles(cli, authority.issueServer([host, ...more], { days: 365, now }))
      })
      cli.output.note(`${dir} has a CA now; keep ${dir}/ca.key where nobody else reads it`)
    })
}

interface InitOptions {
  readonly dir: string
  readonly name: string
  readonly days: number
  readonly crlUrl?: string
  readonly server: readonly string[]
}

function issue(command: Command, cli: Cli): void {
  command
    .command('issue')
    .description('make a key and a certificate, for a device or for the service')
    .argument('[device_id]', 'whose; it becomes the certificate’s common name')
    .option(...DIR)
    .option('--days <days>', 'how long it counts', DAYS, 365)
    .option('--server <hosts...>', 'of the service instead, for these names and addresses')
    .action((deviceId: string | undefined, { dir, days, server }: IssueOptions) => {
      const [host, ...more] = server ?? []
      if ((deviceId === undefined) === (host === undefined))
        throw new Failure(EXIT.usage, 'name a device, or --server with its names')
      tell(() => {
        const authority = Authority.open(dir)
        const now = Date.now()
        if (deviceId !== undefined) showFiles(cli, authority.issueDevice(deviceId, { days, now }))
        else if (host !== undefined) showFiles(cli, authority.issueServer([host, ...more], { days, now }))
      })
    })
}

interface IssueOptions {
  readonly dir: string
  readonly days: number
  readonly server?: readonly string[]
}

function revoke(command: Command, cli: Cli): void {
  command
    .command('revoke')
    .description(
      'revoke what a device has, or one certificate; live sessions end when the service reads the list',
    )
    .argument('<device_id|serial>', 'whose, or which')
    .option(...DIR)
    .option('-y, --yes', 'do not ask')
    .action(async (named: string, { dir, yes }: { dir: string; yes?: boolean }) => {
      await confirm(`Revoke the certificates of ${named}? They cannot be made good again.`, yes)
      tell(() => cli.output.list(Authority.open(dir).revoke(named, { now: Date.now() }), COLUMNS))
    })
}

function list(command: Command, cli: Cli): void {
  command
    .command('list')
    .description('list what was issued, oldest first')
    .option(...DIR)
    .action(({ dir }: { dir: string }) => tell(() => cli.output.list(Authority.open(dir).issued(), COLUMNS)))
}

function showFiles(cli: Cli, files: CertificateFiles): void {
  cli.output.item(files)
}

function tell(act: () => void): void {
  try {
    act()
  } catch (error) {
    if (error instanceof AuthorityError) throw new Failure(EXIT.usage, error.message)
    throw error
  }
}
