// Prints dead letters as they arrive, until Ctrl-C. Those from while the connection was lost are read from the list.
import type { JsonObject } from '../../schemas/json.ts'
import type { Cli } from './cli.ts'
import { definedFields } from './defined-fields.ts'
import { toFailureReport } from './failure.ts'
import { watch } from './watch.ts'

interface LetterFilter {
  readonly device: string | undefined
  readonly reason: string | undefined
  /** Number of recent ones to show first. */
  readonly recent: number
}

/** Ids remembered as shown. A single read of the list returns far fewer. */
const SHOWN_MAX = 10_000

export async function followDeadLetters(cli: Cli, { device, reason, recent }: LetterFilter): Promise<void> {
  const { client } = await cli.connect()
  const shown = new Set<string>()
  const show = (letter: JsonObject) => {
    const { id, received_at: at, device_id: of, topic, reason: why, detail, payload } = letter
    if (shown.has(String(id)) || (reason !== undefined && why !== reason)) return
    shown.add(String(id))
    for (const oldest of shown) if (shown.size > SHOWN_MAX) shown.delete(oldest)
    cli.output.event(letter, () => [at, of, topic, why, detail, payload])
  }
  const look = async () => {
    const query = { per_page: recent, ...definedFields({ device_id: device, reason }) }
    const { data } = await client.listDeadLetters({ query })
    for (const letter of data.toReversed()) show(letter)
  }
  // One read at a time. Events that arrive meanwhile are shown afterwards, and only once.
  let looking = Promise.resolve()
  const failed = (error: unknown) =>
    cli.output.note(`the list cannot be read: ${toFailureReport(error).message}`)
  const onSubscribed = () => {
    looking = looking.then(look).catch(failed)
  }
  const filter = definedFields({ device_id: device })
  await watch(cli, { channel: 'audit', filter, onSubscribed }, ({ event, data }) => {
    // A live event is an object.
    if (event === 'dead_letter.added') looking = looking.then(() => show(data as JsonObject))
  })
  await looking
}
