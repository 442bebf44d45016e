// `fleet repair`: restores telemetry that ClickHouse lost from the log.
import { setTimeout as passes } from 'node:timers/promises'
import type { RepairBody } from '../../../schemas/repair.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { definedFields } from '../defined-fields.ts'
import { EXIT, Failure } from '../failure.ts'
import { FROM_OPTION, TO_OPTION } from '../option-parsers.ts'

const POLL_EVERY_MS = 1_000
const SILENCE_MS_MAX = 60_000

interface Options {
  readonly from?: string
  readonly to?: string
  readonly wait: boolean
}

export const repair: Area = (command, cli) => {
  command
    .command('telemetry')
    .description('restore lost telemetry from the log while the service is running')
    .option(...FROM_OPTION)
    .option(...TO_OPTION)
    .option('--no-wait', 'return without waiting for the end')
    .addHelpText(
      'after',
      '\nRestores points, texts and device logs as far back as the log reaches. Existing rows stay as they are.\n' +
        'Events, shadow changes, commands and audit entries cannot be restored.\n' +
        '\nExamples:\n  fleet repair telemetry --from 2h\n  fleet repair telemetry --from 2026-11-20T08:00Z --to 2026-11-20T09:30Z\n',
    )
    .action(async ({ from, to, wait }: Options) => {
      const { client } = await cli.connect()
      const body = definedFields({ from, to })
      const started = await client.startRepair({ body })
      const last = wait ? await awaitEnd(started, cli, () => client.getRepair()) : started
      cli.output.item(last)
    })
}

async function awaitEnd(started: RepairBody, cli: Cli, read: () => Promise<RepairBody>): Promise<RepairBody> {
  let last = started
  let movedAt = Date.now()
  while (last.status === 'running') {
    await passes(POLL_EVERY_MS, undefined, { signal: cli.signal })
    const next = await read()
    if (next.id !== started.id)
      throw new Failure(EXIT.conflict, 'another repair was started and replaced this one')
    if (next.updated_at !== last.updated_at) movedAt = Date.now()
    if (Date.now() - movedAt > SILENCE_MS_MAX)
      throw new Failure(
        EXIT.unfinished,
        'the repair has made no progress for a minute: ClickHouse or the node that ran it is down; start it again',
      )
    last = next
    cli.output.note(`${Math.floor(last.progress * 100)} %: ${last.messages} messages, ${last.rows} rows`)
  }
  if (last.status === 'failed') throw new Failure(EXIT.failed, `the repair failed: ${last.detail}`)
  return last
}
