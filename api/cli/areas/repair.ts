// `fleet repair`: what ClickHouse has lost and the log still has.
import { setTimeout as passes } from 'node:timers/promises'
import type { RepairBody } from '../../../schemas/repair.ts'
import type { Area } from '../area.ts'
import type { Cli } from '../cli.ts'
import { EXIT, Failure } from '../failure.ts'
import { instant } from '../option-parsers.ts'

const LOOK_EVERY_MS = 1_000
const SILENCE_MS_MAX = 60_000

interface Options {
  readonly from?: string
  readonly to?: string
  readonly wait: boolean
}

export const repair: Area = (command, cli) => {
  command
    .command('telemetry')
    .description('read lost telemetry again from the log, while the service goes on')
    .option(
      '--from <when>',
      'what was received since: an instant, or how long ago: 15m, 2h',
      (text: string) => instant(text),
    )
    .option('--to <when>', 'up to then', (text: string) => instant(text))
    .option('--no-wait', 'do not wait for its end')
    .addHelpText(
      'after',
      '\nPoints, texts and logs of devices come back as far as the log reaches; what is there stays as it is. Events,\n' +
        'shadow changes, commands and the audit do not come back.\n' +
        '\nExamples:\n  fleet repair telemetry --from 2h\n  fleet repair telemetry --from 2026-11-20T08:00Z --to 2026-11-20T09:30Z\n',
    )
    .action(async ({ from, to, wait }: Options) => {
      const { client } = await cli.connect()
      const body = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
      const begun = await client.startRepair({ body })
      const last = wait ? await subscription(begun, cli, () => client.getRepair()) : begun
      cli.output.item(last)
    })
}

async function subscription(
  begun: RepairBody,
  cli: Cli,
  look: () => Promise<RepairBody>,
): Promise<RepairBody> {
  let last = begun
  let movedAt = Date.now()
  while (last.status === 'running') {
    await passes(LOOK_EVERY_MS, undefined, { signal: cli.signal })
    const next = await look()
    if (next.id !== begun.id) throw new Failure(EXIT.conflict, 'a later repair took its place')
    if (next.updated_at !== last.updated_at) movedAt = Date.now()
    if (Date.now() - movedAt > SILENCE_MS_MAX)
      throw new Failure(
        EXIT.unfinished,
        'nothing moves: ClickHouse is away, or the process that did it; start it again',
      )
    last = next
    cli.output.note(`${Math.floor(last.progress * 100)} %: ${last.messages} messages, ${last.rows} rows`)
  }
  if (last.status === 'failed') throw new Failure(EXIT.failed, `it failed: ${last.detail}`)
  return last
}
