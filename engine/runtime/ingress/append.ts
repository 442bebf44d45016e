// One append to the log: the bundles that go in together, and who is told of the result.
import type { Micros } from '../../../schemas/ids.ts'
import { BundleWriter, FLAG_DUP, FLAG_RETAIN, FLAG_WILL, ITEM, readItems } from '../../domain/bundle.ts'
import type { DeviceSession, UplinkMessage } from '../../ports/broker.ts'
import type { Fault } from '../../ports/fault.ts'
import type { Bundle } from '../../ports/log.ts'

export interface Append {
  readonly bundles: readonly Bundle[]
  readonly bytes: number
  /** Sessions to acknowledge to, in order. `counts` has the number of messages of each. */
  readonly sessions: DeviceSession[]
  readonly counts: number[]
  readonly settled: readonly ((fault: Fault | undefined) => void)[]
  readonly firstAt: number
  readonly latestAt: Micros
}

/** The same append without its requests. These are rejected with the fault. */
export function withoutRequests(append: Append, fault: Fault): Append {
  if (append.settled.length === 0) return append
  for (const settled of append.settled) settled(fault)
  const bundles = append.bundles.flatMap(({ partition, body }) => {
    const writer = new BundleWriter()
    for (const item of readItems(body)) if (item.kind !== ITEM.request) writer.add(item)
    return writer.length > 0 ? [{ partition, body: writer.take() }] : []
  })
  return { ...append, bundles, bytes: bundles.reduce((sum, { body }) => sum + body.length, 0), settled: [] }
}

export function flagsOf({ qos, retain, will, isDup }: UplinkMessage): number {
  return qos | (retain ? FLAG_RETAIN : 0) | (will ? FLAG_WILL : 0) | (isDup ? FLAG_DUP : 0)
}
