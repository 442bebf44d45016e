// A status as glyph, word and colour: never by colour alone (D8).
import type { DeviceStatus } from '../../../../schemas/vocabulary.ts'
import { stateWord } from './state-words.ts'

export const STATUS_GLYPHS: Readonly<Record<DeviceStatus, string>> = {
  online: '●',
  offline: '○',
  error: '✕',
  maintenance: '◧',
  provisioning: '◌',
  decommissioned: '▪',
}

export function StatusMark({ status }: { readonly status: DeviceStatus }) {
  return (
    <span class={`status status-${status}`}>
      <span aria-hidden="true">{STATUS_GLYPHS[status]}</span> {stateWord(status)}
    </span>
  )
}
