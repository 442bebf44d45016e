// What fired and what was rolled out in each part of the day before now.
const DAY_MS = 86_400_000
/** Two hours each: a finger has to hit one on a phone. */
export const SLOTS = 12

export interface DayMark {
  readonly alerts: number
  readonly rollouts: number
}

export interface DayMarksOf {
  readonly alerts: readonly { readonly fired_at: string | null }[]
  readonly rollouts: readonly { readonly started_at: string | null }[]
  readonly fromMs: number
}

/** The call for the alerts that fired in the day before now, in the group that the line is about; '' is all. */
export const alertsOfDay = (group: string | undefined) => ({
  query: {
    ...{ state: 'firing,recovering,resolved', from: '-24h', sort: 'fired_at:desc' as const, per_page: 200 },
    ...(group === undefined || group === '' ? {} : { group }),
  },
})

/** The marks by their slot; one in which nothing happened is left out. */
export function marksOf({ alerts, rollouts, fromMs }: DayMarksOf): ReadonlyMap<number, DayMark> {
  const marks = new Map<number, DayMark>()
  const add = (at: string | null, kind: keyof DayMark) => {
    const slot = at === null ? -1 : Math.floor(((Date.parse(at) - fromMs) / DAY_MS) * SLOTS)
    if (!(slot >= 0 && slot < SLOTS)) return
    const mark = marks.get(slot) ?? { alerts: 0, rollouts: 0 }
    marks.set(slot, { ...mark, [kind]: mark[kind] + 1 })
  }
  for (const { fired_at } of alerts) add(fired_at, 'alerts')
  for (const { started_at } of rollouts) add(started_at, 'rollouts')
  return marks
}
