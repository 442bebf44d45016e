// `fleet shadow set --selector`: the same change of the desired state of all devices that match.

import { type Client, RefusalError } from '../../../schemas/client.ts'
import { eachAtOnce } from '../../../schemas/each-at-once.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Cli } from '../cli.ts'
import { EXIT, Failure } from '../failure.ts'
import { confirm } from '../prompt.ts'
import type { Selector } from './device-selector.ts'

export interface DesiredForMany {
  readonly selector: Selector
  readonly body: JsonObject
  readonly isReplaced: boolean
  readonly isDryRun: boolean
  readonly isSure: boolean
}

/** Requests on their way; each of them waits for a write to the log. */
const AT_ONCE = 16
const PAGE_SIZE = 200
const SHOWN_MAX = 10

/** Devices are independent, and setting what is set already changes nothing: who is interrupted can begin again. */
export async function setForMany(
  cli: Cli,
  { selector, body, isReplaced, isDryRun, isSure }: DesiredForMany,
): Promise<void> {
  const { client } = await cli.connect()
  const ids = await matching(client, selector)
  if (ids.length === 0) throw new Failure(EXIT.usage, 'no device matches the selector')
  if (isDryRun) return cli.output.item({ devices: ids.length, first: ids.slice(0, SHOWN_MAX) })
  await confirm(`Change the desired state of ${ids.length} devices?`, isSure)
  const failures: string[] = []
  const query = isReplaced ? ({ mode: 'replace' } as const) : {}
  let begun = 0
  await eachAtOnce(ids, AT_ONCE, async (id) => {
    cli.signal.throwIfAborted()
    cli.output.progress(`${++begun} of ${ids.length}`)
    await client.setDesiredState({ device_id: id, body, query }).catch((error: unknown) => {
      // A service that is away refuses nobody, and will not answer for the others either.
      if (!(error instanceof RefusalError)) throw error
      failures.push(`${id}: ${error.message}`)
    })
  })
  cli.output.progress(undefined)
  cli.output.item({ devices: ids.length, set: ids.length - failures.length, failed: failures.length })
  if (failures.length === 0) return
  const shown = failures.slice(0, SHOWN_MAX).join('; ')
  throw new Failure(EXIT.failed, `${failures.length} of ${ids.length} devices were not changed: ${shown}`)
}

/** Devices that are decommissioned keep their last state, unless the selector asks for them. */
async function matching(client: Client, { status, ...rest }: Selector): Promise<readonly string[]> {
  const query = {
    ...rest,
    ...(status === undefined ? {} : { status: [status] }),
    sort: 'device_id',
    per_page: PAGE_SIZE,
  }
  const ids: string[] = []
  for await (const { data } of client.pages.listDevices({ query }))
    for (const device of data)
      if (device.status !== 'decommissioned' || status === 'decommissioned') ids.push(device.device_id)
  return ids
}
