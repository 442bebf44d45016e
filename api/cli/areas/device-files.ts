// `fleet devices import` and `fleet devices export`.
import { randomUUID } from 'node:crypto'
import { extname } from 'node:path'
import type { Command } from 'commander'
import { BODY_LIMITS } from '../../../schemas/body-limits.ts'
import { type BulkRow, DEVICE_COLUMNS } from '../../../schemas/bulk.ts'
import type { Client } from '../../../schemas/client.ts'
import { type BulkPart, bulkParts } from '../bulk-parts.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { EXIT, Failure } from '../failure.ts'
import { readText } from '../option-parsers.ts'
import type { Column } from '../output.ts'
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
    .description('register many devices, or update them; tokens of new ones are shown only once')
    .argument('<file>', 'CSV with a header row, or one JSON object per line; - is standard input')
    .option('--upsert', 'change the devices that exist already, in place of refusing their rows')
    .option('--dry-run', 'validate the file without registering or changing devices')
    .addHelpText('after', IMPORT_HELP)
  command.addOption(
    command
      .createOption('--format <format>', 'format of the file (default: from its extension)')
      .choices(FORMATS),
  )
  command.action(async (file: string, options: ImportOptions) => {
    const format = options.format ?? BY_ENDING[extname(file)]
    if (format === undefined)
      return command.error('error: cannot tell the format; use --format csv or --format ndjson')
    const parts = bulkParts(readText(file === '-' ? 0 : file), format, BODY_LIMITS.bulkRowsMax)
    const { client } = await cli.connect({ timeoutMs: TIMEOUT_MS })
    const imported = await registerParts(cli, client, parts, {
      contentType: TYPES[format],
      query: definedFields({ dry_run: options.dryRun, upsert: options.upsert }),
    })
    cli.output.progress(undefined)
    const { rows, problem } = imported
    // Also printed if a later part was refused, because these tokens are shown only once.
    if (problem === undefined || rows.length > 0) cli.output.list(rows, IMPORTED)
    if (problem !== undefined && rows.length > 0)
      cli.output.note(`the first ${rows.length} rows were processed; those after them were not`)
    if (problem !== undefined) throw problem
    const failed = rows.filter(({ status }) => status === 'failed').length
    if (options.upsert === true) cli.output.note(countsText(rows))
    if (failed > 0)
      throw new Failure(EXIT.failed, `${failed} of ${rows.length} rows failed; the others were processed`)
  })
}

interface ImportOptions {
  readonly dryRun?: true
  readonly upsert?: true
  readonly format?: Format
}

const IMPORT_HELP = `
Columns of CSV: ${DEVICE_COLUMNS.join(', ')}, and metadata.<name> for each
field of the metadata. Only name and type are required; several tags are separated by semicolons.
More than ${BODY_LIMITS.bulkRowsMax} devices are sent in parts, one after the other. With --upsert, what a row leaves out stays as it
is, and the status and other fields that only the service sets are not read. So an export can be edited and imported again.

Examples:
  fleet devices import new.csv --dry-run
  fleet devices import new.csv --json > tokens.json
  fleet devices export --group warehouse > all.ndjson && fleet devices import all.ndjson --upsert
`

const IMPORTED: readonly Column<BulkRow>[] = [
  ['ROW', ({ row }) => row],
  ['ID', ({ device_id }) => device_id],
  ['STATUS', ({ status }) => status],
  ['ACCESS TOKEN', ({ access_token }) => access_token],
  ['ERROR', ({ error }) => error?.message],
]

function countsText(rows: readonly BulkRow[]): string {
  const counts = new Map<string, number>()
  for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ')
}

interface ImportedRows {
  readonly rows: readonly BulkRow[]
  /** The reason why the remaining rows were not processed. */
  readonly problem?: unknown
}

/** Sends a part again if the service cannot take it now. Its key makes this harmless. */
async function registerParts(
  cli: Cli,
  client: Client,
  parts: readonly BulkPart[],
  about: Pick<Parameters<Client['bulkRegisterDevices']>[0], 'contentType' | 'query'>,
): Promise<ImportedRows> {
  const rows: BulkRow[] = []
  let before = 0
  for (const [at, part] of parts.entries()) {
    cli.output.progress(parts.length === 1 ? 'importing' : `importing part ${at + 1} of ${parts.length}`)
    try {
      const call = { ...about, body: part.text, idempotencyKey: randomUUID() }
      const { results } = await client.bulkRegisterDevices(call)
      for (const result of results) rows.push({ ...result, row: result.row + before })
      before += part.rows
    } catch (problem) {
      return { rows, problem }
    }
  }
  return { rows }
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
