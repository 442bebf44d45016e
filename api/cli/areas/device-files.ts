// `fleet devices import` and `fleet devices export`.
import { extname } from 'node:path'
import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { EXIT, Failure } from '../failure.ts'
import { readText } from '../option-parsers.ts'
import { type FilterOptions, filterOf, withFilter } from './device-filter.ts'

const FORMATS = ['csv', 'ndjson'] as const
type Format = (typeof FORMATS)[number]
const TYPES = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const
const BY_ENDING: Readonly<Partial<Record<string, Format>>> = {
  '.csv': 'csv',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
}

/** Long enough for ten thousand registrations, each of which is written to the log. */
const TIMEOUT_MS = 600_000

export function importDevices(devicesCommand: Command, cli: Cli): void {
  const command = devicesCommand
    .command('import')
    .description('register many devices; their tokens are shown only once')
    .argument('<file>', 'CSV with a header row, or one JSON object per line; - is standard input')
    .option('--dry-run', 'validate the file without registering devices')
    .addHelpText(
      'after',
      '\nExamples:\n  fleet devices import new.csv --dry-run\n  fleet devices import new.csv --json > tokens.json\n',
    )
  command.addOption(
    command
      .createOption('--format <format>', 'format of the file (default: from its extension)')
      .choices(FORMATS),
  )
  command.action(async (file: string, options: { dryRun?: boolean; format?: Format }) => {
    const format = options.format ?? BY_ENDING[extname(file)]
    if (format === undefined)
      return command.error('error: cannot tell the format; use --format csv or --format ndjson')
    const body = readText(file === '-' ? 0 : file)
    const { client } = await cli.connect({ timeoutMs: TIMEOUT_MS })
    cli.output.progress('registering')
    const query = options.dryRun === true ? { dry_run: true } : {}
    const { results, total, failed } = await client.bulkRegisterDevices({
      body,
      contentType: TYPES[format],
      query,
    })
    cli.output.progress(undefined)
    cli.output.list(results, [
      ['ROW', ({ row }) => row],
      ['ID', ({ device_id }) => device_id],
      ['STATUS', ({ status }) => status],
      ['ACCESS TOKEN', ({ access_token }) => access_token],
      ['ERROR', ({ error }) => error?.message],
    ])
    if (failed > 0)
      throw new Failure(EXIT.failed, `${failed} of ${total} rows failed; the others were processed`)
  })
}

export function exportDevices(devicesCommand: Command, cli: Cli): void {
  const command = withFilter(
    devicesCommand
      .command('export')
      .description('write devices to stdout, in a format that `import` accepts'),
  ).addHelpText(
    'after',
    '\nExample:\n  fleet devices export --group warehouse --format csv > warehouse.csv\n',
  )
  command.addOption(
    command.createOption('--format <format>', 'format of the output').choices(FORMATS).default('ndjson'),
  )
  command.action(async (options: FilterOptions & { format: Format }) => {
    const { client } = await cli.connect({ timeoutMs: TIMEOUT_MS })
    cli.output.text(await client.exportDevices({ query: { ...filterOf(options), format: options.format } }))
  })
}
