import type { AlertSeverity } from '../../../../schemas/vocabulary.ts'
import { stateWord } from './state-words.ts'

const GLYPHS: Readonly<Record<AlertSeverity, string>> = { critical: '✕', warning: '▲', info: '◌' }

export function SeverityMark({ severity }: { readonly severity: AlertSeverity }) {
  return (
    <span class={`nowrap severity-${severity}`}>
      <span aria-hidden="true">{GLYPHS[severity]}</span> {stateWord(severity)}
    </span>
  )
}
