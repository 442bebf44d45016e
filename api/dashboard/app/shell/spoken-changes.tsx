// The one part of the page that speaks by itself: what has changed in the fleet, every ten seconds at most, for whoever hears the page.
// Cells and counts that change are silent.
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { FleetStats } from '../../../../schemas/ws.ts'
import { type CountChange, countChanges } from '../fleet/count-changes.ts'
import { fleetStats } from '../live/fleet-index.ts'
import { words } from '../words/words.ts'

const t = words<CountChange>({
  critical: [
    '{n} new critical alert | {n} new critical alerts',
    '{n} neuer kritischer Alarm | {n} neue kritische Alarme',
  ],
  error: [
    '{n} more device has an error | {n} more devices have an error',
    '{n} weiteres Gerät hat einen Fehler | {n} weitere Geräte haben einen Fehler',
  ],
  offline: [
    '{n} more device is offline | {n} more devices are offline',
    '{n} weiteres Gerät ist offline | {n} weitere Geräte sind offline',
  ],
  online: ['{n} device is back | {n} devices are back', '{n} Gerät ist zurück | {n} Geräte sind zurück'],
})

const EVERY_MS = 10_000

export function SpokenChanges() {
  const said = useSignal('')
  useEffect(() => {
    let before: FleetStats | undefined
    const timer = setInterval(() => {
      const now = fleetStats.peek()
      if (now === undefined || now === before) return
      const changes = before === undefined ? [] : countChanges(before, now)
      before = now
      const text = changes.map(([change, n]) => t(change, { n })).join(', ')
      // The same text again would not be read out.
      said.value = text !== '' && text === said.peek() ? `${text}.` : text
    }, EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <p class="visually-hidden" aria-live="polite">
      {said}
    </p>
  )
}
