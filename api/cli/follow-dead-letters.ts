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

/** Ids remembered as shown. A read of the list goes back no further. */
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
  let isFirst = true
  /** Shows some recent ones, and after a lost connection all that have come since. */
  const look = async () => {
    const query = { per_page: recent, ...definedFields({ device_id: device, reason }) }
    const unseen: JsonObject[] = []
    for await (const { data } of client.pages.listDeadLetters({ query })) {
      unseen.push(...data)
      if (isFirst || unseen.length >= SHOWN_MAX || data.some(({ id }) => shown.has(id))) break
    }
    isFirst = false
    for (const letter of unseen.reverse()) show(letter)
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
