// Dead letters as they come, until Ctrl-C. What came while the connection was lost is read from the list.
import type { JsonObject } from '../../schemas/json.ts'
import type { Cli } from './cli.ts'
import { toFailureReport } from './failure.ts'
import { given } from './given.ts'
import { watch } from './watch.ts'

interface LetterFilter {
  readonly device: string | undefined
  readonly reason: string | undefined
  /** Number of the newest ones that are shown first. */
  readonly recent: number
}

/** Ids that are remembered as shown: far more than one look at the list brings. */
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
    const query = { per_page: recent, ...given({ device_id: device, reason }) }
    const { data } = await client.listDeadLetters({ query })
    for (const letter of data.toReversed()) show(letter)
  }
  // One look at a time. Events of the meantime are shown after it, and once.
  let looking = Promise.resolve()
  const failed = (error: unknown) =>
    cli.output.note(`the list cannot be read: ${toFailureReport(error).message}`)
  const onSubscribed = () => {
    looking = looking.then(look).catch(failed)
  }
  const filter = given({ device_id: device })
  await watch(cli, { channel: 'audit', filter, onSubscribed }, ({ event, data }) => {
    // A live event is an object.
    if (event === 'dead_letter.added') looking = looking.then(() => show(data as JsonObject))
  })
  await looking
}
