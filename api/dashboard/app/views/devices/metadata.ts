// What the records of the devices in sight say beyond the index: their metadata, and why they are connected or not. It is read
// device by device, a few at a time.
import { useEffect, useRef, useState } from 'preact/hooks'
import { fleet } from '../../data/client.ts'
import { flatValues } from '../../parts/flat-values.ts'

export type Leaves = ReadonlyMap<string, unknown>

const AT_ONCE = 4
const KEPT_MAX = 2000
const GOOD_FOR_MS = 60_000

interface MetadataEntry {
  readonly leaves: Leaves
  /** The reason of the last change of the connection; empty if it has none. */
  readonly reason: string
  readonly at: number
}

/** The leaves by device, as far as they were read. */
export function useMetadata(ids: readonly string[], isWanted: boolean): ReadonlyMap<string, MetadataEntry> {
  const kept = useRef(new Map<string, MetadataEntry>())
  const [, setRead] = useState(0)
  const key = isWanted ? ids.join(',') : ''
  useEffect(() => {
    if (key === '') return
    const abort = new AbortController()
    const due = ids.filter((id) => (kept.current.get(id)?.at ?? 0) < Date.now() - GOOD_FOR_MS)
    const next = async (): Promise<void> => {
      const id = due.shift()
      if (id === undefined || abort.signal.aborted) return
      const read = await fleet.getDevice({ device_id: id, signal: abort.signal }).then(
        ({ metadata, connectivity }) => ({
          leaves: new Map(flatValues(metadata)),
          reason: connectivity.reason ?? '',
          at: Date.now(),
        }),
        // A device that has just gone has none; any other failure is told by the page's connection.
        () => undefined,
      )
      if (read !== undefined) {
        kept.current.delete(id)
        kept.current.set(id, read)
        for (const oldest of kept.current.keys()) {
          if (kept.current.size <= KEPT_MAX) break
          kept.current.delete(oldest)
        }
        setRead((before) => before + 1)
      }
      await next()
    }
    for (let i = 0; i < AT_ONCE; i++) void next()
    return () => abort.abort()
  }, [key])
  return kept.current
}
