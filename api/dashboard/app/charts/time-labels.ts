// The labels of a time axis: as exact as the distance of its marks, with the day where it begins.
import { instant } from '../words/time.ts'

const MINUTE = 60_000
const DAY = 86_400_000

export function timeLabels(marks: readonly number[], stepMs: number): string[] {
  let dayBefore = ''
  return marks.map((mark) => {
    const day = instant(mark, { day: 'numeric', month: 'short' })
    const isNewDay = day !== dayBefore
    dayBefore = day
    if (stepMs >= DAY) return day
    const time = instant(mark, {
      hour: '2-digit',
      minute: '2-digit',
      ...(stepMs < MINUTE ? { second: '2-digit' } : {}),
    })
    return isNewDay ? `${time}\n${day}` : time
  })
}
