// A status as glyph, word and colour: never by colour alone (D8).
import type { DeviceStatus } from '../../../../schemas/vocabulary.ts'
import { words } from '../words/words.ts'

const t = words({
  online: ['online', 'online'],
  offline: ['offline', 'offline'],
  error: ['error', 'Fehler'],
  maintenance: ['maintenance', 'Wartung'],
  provisioning: ['provisioning', 'wird eingerichtet'],
  decommissioned: ['decommissioned', 'ausgemustert'],
})

export const STATUS_GLYPHS: Readonly<Record<DeviceStatus, string>> = {
  online: '●',
  offline: '○',
  error: '✕',
  maintenance: '◧',
  provisioning: '◌',
  decommissioned: '▪',
}

export const statusWord = (status: DeviceStatus) => t(status)

export function StatusMark({ status }: { readonly status: DeviceStatus }) {
  return (
    <span class={`status status-${status}`}>
      <span aria-hidden="true">{STATUS_GLYPHS[status]}</span> {t(status)}
    </span>
  )
}
