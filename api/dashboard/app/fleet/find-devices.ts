// Devices by what somebody types: those that begin with it, then those with a word that does, then those with its letters
// in this order.
import { type FleetColumns, STATUS } from './columns.ts'

export function findDevices(text: string, columns: FleetColumns, max: number): readonly number[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '' || max <= 0) return []
  // Ids and names are one text with a line between them, so a word may begin after either.
  const words = ['-', '_', '/', ' ', '.'].map((sign) => `${sign}${wanted}`)
  const found: number[][] = [[], [], [], []]
  for (let row = 0; row < columns.rowsCount; row++) {
    if (columns.isAlive[row] === 0 || columns.status[row] === STATUS.decommissioned) continue
    const rank = rankOf(columns.texts[row] ?? '', wanted, words)
    const list = rank === undefined ? undefined : found[rank]
    if (list !== undefined && list.length < max) list.push(row)
    if ((found[0]?.length ?? 0) >= max) break
  }
  return found.flat().slice(0, max)
}

function rankOf(text: string, wanted: string, words: readonly string[]): number | undefined {
  if (text.startsWith(wanted) || text.includes(`\n${wanted}`)) return 0
  if (words.some((word) => text.includes(word))) return 1
  if (text.includes(wanted)) return 2
  return text.split('\n').some((part) => isSubsequence(part, wanted)) ? 3 : undefined
}

function isSubsequence(text: string, wanted: string): boolean {
  let from = 0
  for (const sign of wanted) {
    const at = text.indexOf(sign, from)
    if (at === -1) return false
    from = at + 1
  }
  return true
}
