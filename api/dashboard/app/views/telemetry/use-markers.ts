// What happened in the range of the charts to their devices, or to a group, as marks on their time axes.
import { useState } from 'preact/hooks'
import { omitEmpty } from '../../address/omit-empty.ts'
import type { Span } from '../../address/time-range.ts'
import type { Marker } from '../../charts/marker.ts'
import { fleet } from '../../data/client.ts'
import { useNewestAnswer } from '../../data/newest-answer.ts'
import { useWatch } from '../../live/live.ts'
import { entryText, type TimelineEntry } from '../../parts/entry-text.ts'
import { ENTRIES_PER_PAGE, isMark, readMarkEntries } from './mark-entries.ts'

/** Marks of a live range are asked for again at most this often. */
const STEP_MS = 60_000
const NONE: FoundMarkers = { list: [], isCut: false }

export interface FoundMarkers {
  readonly list: readonly Marker[]
  /** There are older ones in the range. */
  readonly isCut: boolean
}

export interface MarkersRequest {
  readonly devices: readonly string[]
  /** Counts where no device is named. */
  readonly group?: string
  readonly isWanted: boolean
}

/** None of the whole fleet: they would cover the charts. */
export function useMarkers({ devices, group = '', isWanted }: MarkersRequest, span: Span): FoundMarkers {
  const [revision, setRevision] = useState(0)
  const [only] = devices
  const isOne = devices.length === 1 && isWanted
  useWatch(
    isOne && only !== undefined
      ? { channel: 'events', filter: { device_id: only }, snapshot: false }
      : undefined,
    ({ events, hasGap }) => {
      // Events of this channel have the entry as their data.
      if (hasGap || events.some(({ data }) => isMark(data as TimelineEntry)))
        setRevision((count) => count + 1)
    },
  )
  const range = {
    from: new Date(Math.floor(span.fromMs / STEP_MS) * STEP_MS).toISOString(),
    to: new Date(Math.ceil(span.toMs / STEP_MS) * STEP_MS).toISOString(),
    limit: ENTRIES_PER_PAGE,
  }
  const shape = JSON.stringify([devices, group, isWanted])
  const found = useNewestAnswer(`${shape} ${range.from} ${range.to}`, { shape, revision }, async (signal) => {
    if (!isWanted || (devices.length === 0 && group === '')) return NONE
    const query = (cursor: string | undefined) => ({ ...range, ...omitEmpty({ cursor }) })
    if (devices.length === 0) {
      const { entries, isCut } = await readMarkEntries((cursor) =>
        fleet.listFleetEvents({ query: { ...query(cursor), group }, signal }),
      )
      return { list: entries.map((entry) => markOf(entry, entry.device_id)), isCut }
    }
    const answers = await Promise.all(
      devices.map((device_id) =>
        readMarkEntries((cursor) => fleet.listDeviceEvents({ device_id, query: query(cursor), signal })),
      ),
    )
    return {
      list: answers.flatMap(({ entries }, index) =>
        entries.map((entry) => markOf(entry, isOne ? undefined : devices[index])),
      ),
      isCut: answers.some(({ isCut }) => isCut),
    }
  })
  return found.data ?? NONE
}

/** `deviceId` says whose it is, where marks of others are beside it. */
function markOf(entry: TimelineEntry, deviceId: string | undefined): Marker {
  return {
    at: Date.parse(entry.timestamp),
    kind: entry.kind,
    text: deviceId === undefined ? entryText(entry) : `${deviceId}: ${entryText(entry)}`,
  }
}
