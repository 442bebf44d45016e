// What happened in the range of the charts to their devices, or to a group, as marks on their time axes.
import { useMemo, useState } from 'preact/hooks'
import type { Span } from '../../address/time-range.ts'
import type { Marker } from '../../charts/marker.ts'
import { fleet } from '../../data/client.ts'
import { useNewestAnswer } from '../../data/newest-answer.ts'
import { useWatch } from '../../live/live.ts'
import { entryText, type TimelineEntry } from '../../parts/entry-text.ts'

export const MARKS_MAX = 100
/** Marks of a live range are asked for again at most this often. */
const STEP_MS = 60_000
const NONE: readonly Marker[] = []

export interface MarkersRequest {
  readonly devices: readonly string[]
  /** Counts where no device is named. */
  readonly group?: string
  readonly isWanted: boolean
}

interface MarkedEntry {
  readonly deviceId: string
  readonly entry: TimelineEntry
}

/** None of the whole fleet: they would cover the charts. */
export function useMarkers({ devices, group = '', isWanted }: MarkersRequest, span: Span): readonly Marker[] {
  const [revision, setRevision] = useState(0)
  const [only] = devices
  const isOne = devices.length === 1 && isWanted
  useWatch(
    isOne && only !== undefined
      ? { channel: 'events', filter: { device_id: only }, snapshot: false }
      : undefined,
    () => setRevision((count) => count + 1),
  )
  const range = {
    from: new Date(Math.floor(span.fromMs / STEP_MS) * STEP_MS).toISOString(),
    to: new Date(Math.ceil(span.toMs / STEP_MS) * STEP_MS).toISOString(),
    limit: MARKS_MAX,
  }
  const shape = JSON.stringify([devices, group, isWanted])
  const found = useNewestAnswer(`${shape} ${range.from} ${range.to}`, { shape, revision }, async (signal) => {
    if (!isWanted || (devices.length === 0 && group === '')) return []
    if (devices.length > 0) {
      const answers = await Promise.all(
        devices.map((device_id) => fleet.listDeviceEvents({ device_id, query: range, signal })),
      )
      return answers.flatMap(({ data }, index) =>
        data.map((entry): MarkedEntry => ({ deviceId: devices[index] ?? '', entry })),
      )
    }
    const { data } = await fleet.listFleetEvents({ query: { ...range, group }, signal })
    return data.map((entry): MarkedEntry => ({ deviceId: entry.device_id, entry }))
  })
  return useMemo(() => found.data?.filter(isMark).map(markOf(isOne)) ?? NONE, [found.data])
}

/** A command is marked once, where it was sent, and what a device reports changes nothing that was wanted. */
function isMark({ entry: { kind, data } }: MarkedEntry): boolean {
  if (kind === 'command') return data['status'] === 'pending'
  return kind !== 'shadow' || data['section'] === 'desired'
}

const markOf =
  (isOne: boolean) =>
  ({ deviceId, entry }: MarkedEntry): Marker => ({
    at: Date.parse(entry.timestamp),
    kind: entry.kind,
    text: isOne ? entryText(entry) : `${deviceId}: ${entryText(entry)}`,
  })
