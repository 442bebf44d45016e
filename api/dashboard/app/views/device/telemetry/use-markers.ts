// What happened to the device in the range of the charts, as marks on their time axes.

import { useMemo, useRef } from 'preact/hooks'
import type { Span } from '../../../address/time-range.ts'
import type { Marker } from '../../../charts/marker.ts'
import { useAnswer } from '../../../data/answers.ts'
import { useLiveAnswers } from '../../../live/live-answers.ts'
import { entryText } from '../../../parts/entry-text.ts'

const ENTRIES_MAX = 100
/** Marks of a live range are asked for again at most this often. */
const STEP_MS = 60_000
const NONE: readonly Marker[] = []

export function useMarkers(deviceId: string | undefined, { fromMs, toMs }: Span): readonly Marker[] {
  const from = new Date(Math.floor(fromMs / STEP_MS) * STEP_MS).toISOString()
  const to = new Date(Math.ceil(toMs / STEP_MS) * STEP_MS).toISOString()
  const answer = useAnswer(
    'listDeviceEvents',
    { device_id: deviceId ?? '', query: { from, to, limit: ENTRIES_MAX } },
    { isWanted: deviceId !== undefined },
  )
  useLiveAnswers(
    deviceId === undefined ? undefined : { channel: 'events', filter: { device_id: deviceId } },
    ['listDeviceEvents'],
  )
  const kept = useRef(NONE)
  const entries = answer.data?.data
  return useMemo(() => {
    if (deviceId === undefined) return NONE
    // While the next minute is asked for, the marks of the one before stay.
    if (entries !== undefined)
      kept.current = entries
        // A command is marked once, where it was sent, and the device's reports change nothing that was wanted.
        .filter(({ kind, data }) => kind !== 'command' || data['status'] === 'pending')
        .filter(({ kind, data }) => kind !== 'shadow' || data['section'] === 'desired')
        .map((entry) => ({ at: Date.parse(entry.timestamp), kind: entry.kind, text: entryText(entry) }))
    return kept.current
  }, [entries, deviceId])
}
