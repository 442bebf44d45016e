// `fleet certs`: a certificate authority in a folder on this machine, for devices that authenticate with certificates
// and for the TLS of the service. It needs no running service.
import type { Command } from 'commander'
import type { Area } from '../area.ts'
import {
  Authority,
  AuthorityError,
  type CertificateFiles,
  type IssuedCertificate,
} from '../certs/authority.ts'
import { requestFiles, type SignedFile, signFiles } from '../certs/sign-files.ts'
import type { Cli } from '../cli.ts'
import { EXIT, Failure } from '../failure.ts'
import { wholeNumber } from '../option-parsers.ts'
import type { Column } from '../output.ts'
import { confirm } from '../prompt.ts'

const COLUMNS: readonly Column<IssuedCertificate>[] = [
  ['NAME', ({ name }) => name],
  ['KIND', ({ kind }) => kind],
  ['EXPIRES', ({ expires_at }) => expires_at],
  ['REVOKED', ({ revoked_at }) => revoked_at],
  ['SERIAL', ({ serial }) => serial],
]
const SIGNED_COLUMNS: readonly Column<SignedFile>[] = [
  ['FILE', ({ file }) => file],
  ['DEVICE', ({ device_id }) => device_id],
  ['CERTIFICATE', ({ certificate }) => certificate],
]
const DIR = ['--dir <folder>', 'folder of the CA', 'certs'] as const
const DAYS = wholeNumber(1, 36_500)

export const certs: Area = (command, cli) => {
  command.addHelpText(
    'after',
    '\nExamples:\n  fleet certs init --server mqtt.example.com\n  fleet certs issue robot-7\n' +
      '  fleet certs sign --csr robot-7.csr\n  fleet certs sign --csr requests/\n' +
      '  fleet certs issue --server mqtt.example.com 10.0.0.1\n  fleet certs revoke robot-7\n\n' +
      'Start the service with FLEET_TLS_CERT=certs/server.crt, FLEET_TLS_KEY=certs/server.key,\n' +
      'FLEET_TLS_CLIENT_CA=certs/ca.crt and FLEET_TLS_CRL=certs/ca.crl. It reloads the files when they change.\n' +
      'Copy devices/<id>.crt, devices/<id>.key and ca.crt to the device. Keep ca.key secret.\n',
  )
  init(command, cli)
  issue(command, cli)
  sign(command, cli)
  revoke(command, cli)
  list(command, cli)
}

function init(command: Command, cli: Cli): void {
  command
    .command('init')
    .description('create a CA and a certificate for the service')
    .option(...DIR)
    .option('--name <name>', 'name of the CA', 'Fleet CA')
    .option('--days <days>', 'validity of the CA', DAYS, 3_650)
    .option('--crl-url <url>', 'URL at which you serve the revocation list; required by EMQX')
    .option('--server <hosts...>', 'host names and addresses of the service', [
      'localhost',
      '127.0.0.1',
      '::1',
    ])
    .action(({ dir, name, days, crlUrl, server }: InitOptions) => {
      const now = Date.now()
      const [host, ...more] = server
      if (host === undefined) throw new Failure(EXIT.usage, '--server needs at least one name')
      withUsageErrors(() => {
        const authority = Authority.create(dir, { name, days, crlUrl, now })
        showFiles(cli, authority.issueServer([host, ...more], { days: 365, now }))
      })
      cli.output.note(`created a CA in ${dir}; keep ${dir}/ca.key secret`)
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
    .description('create a key and a certificate for a device or for the service')
    .argument('[device_id]', 'id of the device, used as the common name')
    .option(...DIR)
    .option('--days <days>', 'validity of the certificate', DAYS, 365)
    .option('--server <hosts...>', 'issue a certificate for the service, with these names and addresses')
    .action((deviceId: string | undefined, { dir, days, server }: IssueOptions) => {
      const [host, ...more] = server ?? []
      if ((deviceId === undefined) === (host === undefined))
        throw new Failure(EXIT.usage, 'pass either a device id, or --server with its names')
      withUsageErrors(() => {
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

function sign(command: Command, cli: Cli): void {
  command
    .command('sign')
    .description('sign certificate requests of devices, which keep their keys to themselves')
    .requiredOption('--csr <file|folder>', 'a request (PEM or DER), or a folder of files *.csr')
    .option('--device <device_id>', 'id of the device (default: the common name of the request)')
    .option(...DIR)
    .option('--days <days>', 'validity of the certificates', DAYS, 365)
    .action(({ csr, device, dir, days }: SignOptions) =>
      withUsageErrors(() => {
        const authority = Authority.open(dir)
        const { files, isFolder } = requestFiles(csr)
        if (isFolder && device !== undefined)
          throw new Failure(EXIT.usage, '--device names the device of one request; leave it out for a folder')
        const signed = signFiles(authority, files, { deviceId: device, days, now: Date.now() })
        const [only] = signed
        const failures = signed.filter(({ error }) => error !== null)
        if (isFolder) {
          cli.output.list(signed, SIGNED_COLUMNS)
          cli.output.note(`signed ${signed.length - failures.length} of ${signed.length} requests`)
        } else if (only?.error === null)
          cli.output.item({ device_id: only.device_id, certificate: only.certificate })
        if (failures.length > 0)
          throw new Failure(
            EXIT.failed,
            failures.map(({ file, error }) => `${file} was not signed: ${error}`).join('\n'),
          )
      }),
    )
}

interface SignOptions {
  readonly csr: string
  readonly device?: string
  readonly dir: string
  readonly days: number
}

function revoke(command: Command, cli: Cli): void {
  command
    .command('revoke')
    .description(
      'revoke all certificates of a device, or a single one; sessions end when the service reloads the list',
    )
    .argument('<device_id|serial>', 'device id, or serial number of one certificate')
    .option(...DIR)
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (named: string, { dir, yes }: { dir: string; yes?: boolean }) => {
      await confirm(`Revoke the certificates of ${named}? This cannot be undone.`, yes)
      withUsageErrors(() => cli.output.list(Authority.open(dir).revoke(named, { now: Date.now() }), COLUMNS))
    })
}

function list(command: Command, cli: Cli): void {
  command
    .command('list')
    .description('list issued certificates, oldest first')
    .option(...DIR)
    .action(({ dir }: { dir: string }) =>
      withUsageErrors(() => cli.output.list(Authority.open(dir).issued(), COLUMNS)),
    )
}

function showFiles(cli: Cli, files: CertificateFiles): void {
  cli.output.item(files)
}

function withUsageErrors(act: () => void): void {
  try {
    act()
  } catch (error) {
    if (error instanceof AuthorityError) throw new Failure(EXIT.usage, error.message)
    throw error
  }
}
