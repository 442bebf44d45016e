import type { AlertSeverity } from '../../../../schemas/vocabulary.ts'
import { words } from '../words/words.ts'

const t = words({
  critical: ['critical', 'kritisch'],
  warning: ['warning', 'Warnung'],
  info: ['info', 'Info'],
})
const GLYPHS: Readonly<Record<AlertSeverity, string>> = { critical: '✕', warning: '▲', info: '◌' }

export const severityWord = (severity: AlertSeverity) => t(severity)

export function SeverityMark({ severity }: { readonly severity: AlertSeverity }) {
  return (
    <span class={`nowrap severity-${severity}`}>
      <span aria-hidden="true">{GLYPHS[severity]}</span> {t(severity)}
    </span>
  )
}
