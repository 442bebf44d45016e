// What is under the pointer or the cursor of the map. What the index knows is there at once; why it is so and the latest values
// are asked for once the cursor rests.
import { useEffect, useState } from 'preact/hooks'
import { useAnswer } from '../../data/answers.ts'
import type { MapView, Spot } from '../../fleet/map-view.ts'
import { columns } from '../../live/fleet-index.ts'
import { Age } from '../../parts/age.tsx'
import { flatValues, shownValue } from '../../parts/flat-values.ts'
import { plainText } from '../../parts/plain-text.ts'
import { StatusMark } from '../../parts/status-mark.tsx'
import { number } from '../../words/words.ts'
import { t } from './overview-words.ts'

const WIDTH_PX = 240
const RESTS_MS = 300
const VALUES_MAX = 4

export interface MapCardProps {
  readonly row: number
  readonly place: Spot & { readonly side: number }
  readonly view: MapView
  readonly width: number
  /** The value of the metric by which the map is coloured. */
  readonly value: number | undefined
}

export function MapCard({ row, place, view, width, value }: MapCardProps) {
  const [x, y, side] = [
    (place.x - view.x) * view.zoom,
    (place.y - view.y) * view.zoom,
    place.side * view.zoom,
  ]
  const left = Math.max(0, Math.min(x, width - WIDTH_PX))
  const id = columns.ids[row] ?? ''
  return (
    <>
      <span
        class="map-cursor"
        style={{
          transform: `translate(${x - 1}px, ${y - 1}px)`,
          inlineSize: `${side + 1}px`,
          blockSize: `${side + 1}px`,
        }}
      />
      <div class="map-card" style={{ transform: `translate(${left}px, ${y + side + 6}px)` }}>
        <strong>{plainText(columns.names[row] ?? '')}</strong>
        <code>{id}</code>
        <span>
          <StatusMark status={columns.statusAt(row)} /> · <Age at={columns.since[row] || undefined} />
        </span>
        {value !== undefined && <span>{Number.isNaN(value) ? t('noValue') : number(value)}</span>}
        <More key={id} id={id} firmware={columns.firmwares.at(columns.firmware[row] ?? 0)} />
      </div>
    </>
  )
}

function More({ id, firmware }: { readonly id: string; readonly firmware: string }) {
  const [isResting, setResting] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setResting(true), RESTS_MS)
    return () => clearTimeout(timer)
  }, [])
  const device = useAnswer('getDevice', { device_id: id }, { isWanted: isResting })
  const latest = useAnswer('getTelemetry', { device_id: id }, { isWanted: isResting })
  const reason = device.data?.status_reason ?? device.data?.issues[0]
  const values = latest.data === undefined ? [] : flatValues(latest.data.data).slice(0, VALUES_MAX)
  return (
    <>
      {firmware !== '' && <span class="muted">{plainText(firmware)}</span>}
      {reason != null && <span>{plainText(reason)}</span>}
      {values.map(([metric, shown]) => (
        <span key={metric} class="muted">
          {plainText(metric)} {shownValue(shown)}
        </span>
      ))}
    </>
  )
}
