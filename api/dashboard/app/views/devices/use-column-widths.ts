import { useMemo } from 'preact/hooks'
import { DEVICE_STATUSES } from '../../../../../schemas/vocabulary.ts'
import { columns } from '../../live/fleet-index.ts'
import { stateWord } from '../../parts/state-words.ts'
import { STATUS_GLYPHS } from '../../parts/status-mark.tsx'
import { ago, now } from '../../words/time.ts'
import { language } from '../../words/words.ts'
import { type ColumnWidths, columnWidths, type Measure } from './column-widths.ts'
import { columnName } from './device-columns.tsx'
import { t } from './device-words.ts'

/** Decommissioned devices are seldom looked at, and their word is the longest. */
const SHOWN_STATUSES = DEVICE_STATUSES.filter((status) => status !== 'decommissioned')
/** Ages at which their text is widest. */
const AGES_MS = [59_000, 3_540_000, 82_800_000, 86_400_000 * 99]

/** The widths of the columns for what the index holds now. They change with new words, and not with each change of a device. */
export function useColumnWidths(): ColumnWidths {
  const { groups, types, firmwares, rowsCount } = columns
  const words = groups.words.length + types.words.length + firmwares.words.length
  return useMemo(() => {
    const ages = AGES_MS.map((ms) => ago(now.peek() - ms))
    const wordsOf = {
      status: SHOWN_STATUSES.map((status) => `${STATUS_GLYPHS[status]} ${stateWord(status)}`),
      seen: [...ages, t('never')],
      since: ages,
      alert: [`▲ ${t('warning')}`, `✕ ${t('critical')}`],
      sync: [`✓ ${t('inSync')}`, `◔ ${t('outOfSync')}`],
    }
    return columnWidths({ columns, nameOf: columnName, wordsOf }, measure())
  }, [rowsCount, words, language.value])
}

function measure(): Measure {
  const context = document.createElement('canvas').getContext('2d')
  const { fontSize, fontFamily } = getComputedStyle(document.body)
  const code = getComputedStyle(document.documentElement).getPropertyValue('--mono')
  return (text, isCode = false) => {
    if (context === null) return 0
    context.font = `${fontSize} ${isCode ? code : fontFamily}`
    return context.measureText(text).width
  }
}
